// A job that cannot be: refused before anything is written, with 2, on thread ranks and under mpirun alike.
#include "tests/faults/job.h"

namespace octant::faults {
namespace {

namespace fs = std::filesystem;

class WrongSpec : public Faults, public testing::WithParamInterface<Ranks> {
 protected:
  Ended refused(const Set& set) const { return train(set, GetParam()); }
  void TearDown() override {
    EXPECT_FALSE(fs::exists(folder() / "out")) << "a job that was refused has begun";
    Faults::TearDown();
  }
};

TEST_P(WrongSpec, UnknownField) {
  expect_message(refused({"parallel.data=2", "model.colour=3"}), 2, {"colour"});
}

TEST_P(WrongSpec, MisspeltFieldIsToldItsRightName) {
  expect_message(refused({"parallel.data=2", "model.hidden_sise=32"}), 2, {"hidden_sise", "hidden_size"});
}

TEST_P(WrongSpec, WrongType) {
  expect_message(refused({"parallel.data=2", "training.steps=many"}), 2, {"training.steps", "many"});
}

TEST_P(WrongSpec, BatchSizesThatDoNotMultiply) {
  expect_message(refused({"parallel.data=2", "batch.global_batch_size=10", "batch.micro_batch_size=4"}), 2,
                 {"batch", "10", "4"});
}

TEST_P(WrongSpec, HeadsThatDoNotDivide) {
  expect_message(refused({"parallel.tensor=2", "model.num_attention_heads=1"}), 2,
                 {"num_attention_heads", "tensor"});
}

TEST_P(WrongSpec, MoreStagesThanLayers) {
  expect_message(refused({"parallel.pipeline=8"}), 2, {"pipeline", "num_layers"});
}

INSTANTIATE_TEST_SUITE_P(On, WrongSpec, testing::Values(Ranks::kThreads, Ranks::kMpi), [](const auto& test) {
  return std::string(test.param == Ranks::kThreads ? "Threads" : "Mpi");
});

TEST_F(Faults, WorldThatDoesNotFitTheRanksStarted) {
  expect_message(train({"parallel.tensor=4"}, Ranks::kMpi, 2), 2, {"4", "2"});
  expect_message(train({"parallel.data=2", "launch.transport=THREADS"}, Ranks::kMpi, 2), 2, {"THREADS"});
  expect_message(train({"parallel.data=2", "launch.transport=MPI"}), 2, {"needs 2 ranks", "1 were started"});
  EXPECT_FALSE(fs::exists(folder() / "out"));
}

// Set-up errors that no second try mends: the cause is the command's last word.
TEST_F(Faults, C30_PermanentErrorsNameTheirCauseOnce) {
  for (const Ranks kind : {Ranks::kThreads, Ranks::kMpi}) {
    expect_message(train({"parallel.data=2", "data.train[0].text.path=nowhere/corpus.txt"}, kind), 3,
                   {"nowhere/corpus.txt", "No such file"});
    expect_message(
        train({"parallel.data=2", "checkpoint.interval=1", "checkpoint.dir=corpus.txt/checkpoints"}, kind), 3,
        {"corpus.txt/checkpoints", "Not a directory"});
    expect_message(train({"parallel.data=2", "output_dir=corpus.txt/out"}, kind), 3,
                   {"corpus.txt/out", "Not a directory"});
  }
}

}  // namespace
}  // namespace octant::faults
