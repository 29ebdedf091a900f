// The transport never changes the numbers: losses, norms, weights and moments of every layout on MPI
// processes are those of thread ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/parity/harness.h"
#include "train/setup.h"

namespace octant::parity {
namespace {

// What one rank owns of an outcome, as bytes; in its tensors, which have their global shapes, the elements of
// other ranks are zero.
class Packed {
 public:
  explicit Packed(const Outcome& mine) {
    for (const auto* values : {&mine.losses, &mine.norms, &mine.loss_scales}) put(*values);
    for (const auto* tensors : {&mine.weights, &mine.exp_avg}) {
      put_number(tensors->size());
      for (const auto& [name, values] : *tensors) {
        put(std::vector<char>(name.begin(), name.end()));
        put(values);
      }
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void put_number(uint64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
  template <typename T>
  void put(const std::vector<T>& values) {
    put_number(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  std::string bytes_;
};

class Unpacked {
 public:
  explicit Unpacked(const std::string& bytes) : bytes_(bytes) {}

  // Every element has one owner, and elsewhere it is positive zero.
  void add_to(Outcome& outcome) {
    for (auto* values : {&outcome.losses, &outcome.norms, &outcome.loss_scales})
      if (const auto mine = take<double>(); !mine.empty()) *values = mine;
    for (auto* tensors : {&outcome.weights, &outcome.exp_avg})
      for (uint64_t left = take_number(); left > 0; --left) {
        const std::vector<char> name = take<char>();
        const std::vector<float> mine = take<float>();
        std::vector<float>& whole = (*tensors)[std::string(name.begin(), name.end())];
        whole.resize(std::max(whole.size(), mine.size()));
        for (size_t i = 0; i < mine.size(); ++i) {
          uint32_t bits = 0;
          std::memcpy(&bits, &mine[i], sizeof(bits));
          if (bits != 0) whole[i] = mine[i];
        }
      }
  }

 private:
  uint64_t take_number() {
    uint64_t number = 0;
    std::memcpy(&number, bytes_.data() + at_, sizeof(number));
    at_ += sizeof(number);
    return number;
  }
  template <typename T>
  std::vector<T> take() {
    std::vector<T> values(take_number());
    if (!values.empty()) std::memcpy(values.data(), bytes_.data() + at_, values.size() * sizeof(T));
    at_ += values.size() * sizeof(T);
    return values;
  }
  const std::string& bytes_;
  size_t at_ = 0;
};

// On every rank: trains on this world; rank 0 trains again on thread ranks while the others wait, and
// compares.
void expect_same_on_threads(const Case& model, const Layout& layout) {
  if (layout.ranks() != mpi::launch().size) return;
  const Job job = make_job(model, layout);
  const WorldResult result =
      mpi::run({.collective_timeout_seconds = 120},
               device_factory(job, placement_of(job, layout.ranks(), true)), [&](World& world) {
                 Outcome mine;
                 train_rank(world, job, model, layout, mine);
                 const std::vector<std::string> all = world.communicator().all_gather(Packed(mine).bytes());
                 if (world.rank() == 0) {
                   Outcome processes;
                   for (const std::string& bytes : all) Unpacked(bytes).add_to(processes);
                   const Outcome threads = train(model, layout);
                   ASSERT_EQ(threads.losses.size(), static_cast<size_t>(model.steps));
                   expect_same_bits(threads, processes, layout.str());
                 }
                 world.communicator().barrier();
               });
  EXPECT_EQ(result.exit_code, 0) << layout.str() << ": " << result.message;
}

class Transports : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override { ASSERT_TRUE(mpi::launched()) << "start it with mpirun"; }
  Case model() const {
    const auto& [family, compute] = GetParam();
    return {.family = family, .precision = "compute: " + compute, .steps = 3, .dropout = 0.1};
  }
  void compare(const Layout& layout) const { expect_same_on_threads(model(), layout); }
};

TEST_P(Transports, ZeroStages) {
  for (int stage : {0, 1, 2, 3}) {
    compare({.data = 4, .stage = stage, .accumulation = 2});
    compare({.data = 8, .stage = stage});
    compare({.data = 8, .stage = stage, .progress_thread = true});
  }
}

TEST_P(Transports, TensorAndSequenceParallel) {
  for (const bool sequence : {false, true}) {
    compare({.tensor = 4, .sequence_parallel = sequence});
    compare({.data = 2, .tensor = 2, .stage = 3, .sequence_parallel = sequence});
    compare({.data = 2, .tensor = 4, .stage = 2, .sequence_parallel = sequence});
  }
}

TEST_P(Transports, Pipeline) {
  for (const char* schedule : {"GPIPE", "ONE_F_ONE_B"}) {
    compare({.pipeline = 4, .accumulation = 4, .schedule = schedule});
    compare({.data = 2, .pipeline = 2, .stage = 3, .accumulation = 4, .schedule = schedule});
    compare({.data = 2, .pipeline = 4, .stage = 1, .accumulation = 4, .schedule = schedule});
  }
}

TEST_P(Transports, AllAxes) {
  for (int stage : {0, 1, 2, 3}) {
    Layout cube{.data = 2,
                .tensor = 2,
                .pipeline = 2,
                .stage = stage,
                .accumulation = 2,
                .sequence_parallel = stage % 2 == 1};
    compare(cube);
    cube.recompute = true;
    cube.overlap = false;
    compare(cube);
    cube.overlap = cube.progress_thread = true;
    compare(cube);
  }
  compare({.tensor = 2, .pipeline = 2, .accumulation = 4, .sequence_parallel = true, .recompute = true});
}

INSTANTIATE_TEST_SUITE_P(Parity, Transports,
                         testing::Combine(testing::Values("GPT2", "LLAMA"), testing::Values("F32", "BF16")),
                         [](const testing::TestParamInfo<Transports::ParamType>& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param);
                         });

}  // namespace
}  // namespace octant::parity
