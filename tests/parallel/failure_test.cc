// How a world ends when a rank fails, calls something else, or never comes.
#include <array>
#include <string>

#include "core/error.h"
#include "tests/parallel/values.h"
#include "tests/parallel/world_fixture.h"

namespace octant {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Runs the body, expects it to throw E whose text holds all of `parts`, and lets the exception go on.
template <typename E>
void expect_thrown(const std::function<void()>& body, std::initializer_list<std::string> parts) {
  try {
    body();
  } catch (const E& error) {
    for (const std::string& part : parts)
      EXPECT_TRUE(contains(error.what(), part)) << part << " is not in: " << error.what();
    throw;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of exception: " << error.what();
    throw;
  }
  ADD_FAILURE() << "nothing was thrown";
}

TEST(Failure, AThrowingRankWakesTheOthers) {
  for (const int size : {2, 3, 4, 8}) {
    const Ran ended = run_world(size, {}, [](World& world) {
      world.communicator().barrier().wait();
      if (world.rank() == 1) throw DataError("the disk is gone");
      expect_thrown<PeerFailed>([&] { world.communicator().barrier().wait(); },
                                {"rank 1 failed: the disk is gone"});
    });
    if (!ended.ran) continue;
    EXPECT_EQ(ended.result.exit_code, 3);
    EXPECT_EQ(ended.result.failed_rank, 1);
    EXPECT_EQ(ended.result.message, "the disk is gone");
  }
}

TEST(Failure, ARankThatUnwindsThroughWorkUnderWayDoesNotWaitForIt) {
  for (const int size : {2, 3, 4, 8}) {
    const Ran ended = run_world(size, {}, [](World& world) {
      Communicator& group = world.communicator();
      const Tensor x = coded_tensor(world.device(), 100000, DType::kF32, world.rank());
      const Tensor y = coded_tensor(world.device(), 100000, DType::kF32, world.rank());
      Work sum = group.all_reduce(x, {});
      if (world.rank() == 0) {
        Work never = group.receive(y, world.size() - 1, 3, {});  // nobody sends this
        throw UserError("rank 0 has had enough");
      }
      expect_thrown<PeerFailed>(
          [&] {
            sum.wait();
            group.barrier().wait();
          },
          {"rank 0 failed: rank 0 has had enough"});
    });
    if (!ended.ran) continue;
    EXPECT_EQ(ended.result.exit_code, 2);
    EXPECT_EQ(ended.result.failed_rank, 0);
  }
}

TEST(Failure, DifferentCallsAreNamedOnEveryRank) {
  for (const int size : {2, 3, 4, 8}) {
    const Ran ended = run_world(size, {.verify_collectives = true}, [](World& world) {
      Communicator& group = world.communicator();
      const int ranks = world.size();
      group.barrier().wait();
      const Tensor whole = coded_tensor(world.device(), ranks * 48, DType::kF32, world.rank());
      const Tensor shard = whole.flat(world.rank() * 48, 48);
      const std::string other =
          "rank " + std::to_string(ranks - 1) + " calls all_gather of 48 f32 (parameters)";
      expect_thrown<BugError>(
          [&] {
            if (world.rank() == ranks - 1) {
              const AllGatherPiece piece{shard, whole, 48, 48};
              group.all_gather(std::span(&piece, 1), {.purpose = "parameters"}).wait();
            } else {
              const ReduceScatterPiece piece{whole, 48, 48, shard, false};
              group.reduce_scatter(std::span(&piece, 1), {.purpose = "gradients"}).wait();
            }
          },
          {"calls reduce_scatter of 48 f32 (gradients)", other, "group world"});
    });
    if (!ended.ran) continue;
    EXPECT_EQ(ended.result.exit_code, 1);
  }
}

TEST(Failure, DifferentCountsDTypesAndPurposesAreNamed) {
  struct Case {
    int64_t count;
    DType dtype;
    const char* purpose;
    const char* said;
  };
  for (const Case& wrong : {Case{9, DType::kF32, "sums", "all_reduce of 9 f32 (sums)"},
                            Case{8, DType::kI32, "sums", "all_reduce of 8 i32 (sums)"},
                            Case{8, DType::kF32, "norms", "all_reduce of 8 f32 (norms)"}})
    for (const int size : {2, 4, 8}) {
      const Ran ended = run_world(size, {.verify_collectives = true}, [&](World& world) {
        const bool mine = world.rank() == 1;
        const Tensor x =
            coded_tensor(world.device(), mine ? wrong.count : 8, mine ? wrong.dtype : DType::kF32, 0);
        expect_thrown<BugError>(
            [&] { world.communicator().all_reduce(x, {.purpose = mine ? wrong.purpose : "sums"}).wait(); },
            {std::string("rank 1 calls ") + wrong.said, "calls all_reduce of 8 f32 (sums)"});
      });
      EXPECT_EQ(ended.result.exit_code, ended.ran ? 1 : 0) << wrong.said;
    }
}

TEST(Failure, AMessageOfAnotherSizeIsNamed) {
  for (const int size : {2, 4, 8}) {
    const Ran ended = run_world(size, {}, [](World& world) {
      const Tensor x = coded_tensor(world.device(), world.rank() == 0 ? 12 : 8, DType::kF32, 0);
      if (world.rank() == 0) {
        world.communicator().send(x, 1, 0, {.purpose = "activations"}).wait();
        world.communicator().barrier().wait();
      } else if (world.rank() == 1) {
        expect_thrown<BugError>(
            [&] { world.communicator().receive(x, 0, 0, {.purpose = "activations"}).wait(); },
            {"receive of 8 f32 (activations)"});
      } else {
        world.communicator().barrier().wait();
      }
    });
    EXPECT_EQ(ended.result.exit_code, ended.ran ? 1 : 0);
  }
}

TEST(Failure, AWaitThatLastsTooLongShowsTheFlightRecorder) {
  for (const int size : {2, 3, 4, 8}) {
    const Ran ended = run_world(size, {.collective_timeout_seconds = 0.2}, [](World& world) {
      Communicator& group = world.communicator();
      group.barrier().wait();
      const Tensor x = coded_tensor(world.device(), 6, DType::kF32, 0);
      // Rank 0 waits for a message, the others for rank 0.
      Work stuck = world.rank() == 0 ? group.receive(x, 1, 0, {.purpose = "activations"})
                                     : group.all_reduce(x, {.purpose = "sums"});
      expect_thrown<PeerFailed>([&] { stuck.wait(); },
                                {"0.2 s", "last operations", "world barrier #0", "not finished"});
    });
    if (!ended.ran) continue;
    EXPECT_EQ(ended.result.exit_code, 5);
    EXPECT_TRUE(contains(ended.result.message, "debug.collective_timeout_seconds")) << ended.result.message;
  }
}

TEST(Failure, AgreementThrowsOnEveryRankAndTheWorldGoesOn) {
  for_each_world({1, 2, 3, 4, 8}, [](World& world) {
    int calls = 0;
    world.agree("counting", [&] { ++calls; });
    EXPECT_EQ(calls, 1);
    if (world.size() > 1) {
      const int at_fault = world.size() - 1;
      try {
        world.agree("opening the data", [&] {
          if (world.rank() == at_fault) throw DataError("no such file: a.bin");
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const PeerFailed& error) {
        EXPECT_NE(world.rank(), at_fault);
        EXPECT_EQ(error.exit_code(), ExitCode::kUnusable);
        EXPECT_TRUE(contains(error.what(), "opening the data")) << error.what();
        EXPECT_TRUE(contains(error.what(), "no such file: a.bin")) << error.what();
      } catch (const DataError& error) {
        EXPECT_EQ(world.rank(), at_fault);
        EXPECT_STREQ(error.what(), "no such file: a.bin");
      }
    }
    const Tensor x = coded_tensor(world.device(), 40, DType::kF32, world.rank());
    world.communicator().all_reduce(x, {}).wait();
    EXPECT_EQ(first_difference(x, 0, 40, [&](int64_t i) { return coded_sum(world.size(), i); }), -1);
  });
}

TEST(Failure, AFailedAgreementThatNobodyCatchesEndsWithItsCode) {
  for (const int size : {1, 2, 3, 4, 8}) {
    const Ran ended = run_world(size, {}, [](World& world) {
      world.agree("reading the job", [&] {
        if (world.rank() == world.size() / 2) throw UserError("what is this");
      });
    });
    if (!ended.ran) continue;
    EXPECT_EQ(ended.result.exit_code, 2);
    EXPECT_EQ(ended.result.failed_rank, size / 2);
    EXPECT_EQ(ended.result.message, "what is this");
  }
}

TEST(Failure, AnythingThrownIsReported) {
  for (const int size : {1, 2, 4, 8}) {
    const Ran foreign = run_world(size, {}, [](World& world) {
      if (world.rank() == 0) throw 7;
      world.communicator().barrier().wait();
    });
    EXPECT_EQ(foreign.result.exit_code, foreign.ran ? 1 : 0);
    const Ran memory = run_world(size, {}, [](World& world) {
      if (world.rank() == 0) throw std::bad_alloc();
      world.communicator().barrier().wait();
    });
    EXPECT_EQ(memory.result.exit_code, memory.ran ? 4 : 0);
  }
}

TEST(Failure, ImpossibleArgumentsAreBugs) {
  for_each_world({2, 4, 8}, [](World& world) {
    Communicator& group = world.communicator();
    const Tensor x = coded_tensor(world.device(), 10, DType::kF32, 0);
    const Tensor bytes = coded_tensor(world.device(), 10, DType::kU8, 0);
    EXPECT_THROW(group.broadcast(x, world.size(), {}), BugError);
    EXPECT_THROW(group.send(x, -1, 0, {}), BugError);
    EXPECT_THROW(group.receive(x, 0, -1, {}), BugError);
    EXPECT_THROW(group.all_reduce(bytes, {}), BugError);
    EXPECT_THROW(group.all_to_all(x.flat(0, 9), x.flat(0, 9), {}), BugError);
    EXPECT_THROW(group.world_rank(world.size()), BugError);
    const ReduceScatterPiece short_source{x, 10, 10, x, false};
    EXPECT_THROW(group.reduce_scatter(std::span(&short_source, 1), {}), BugError);
    const AllGatherPiece short_target{x, x, 10, 10};
    EXPECT_THROW(group.all_gather(std::span(&short_target, 1), {}), BugError);
    EXPECT_THROW(GridGroups(world, ProcessGrid({.data = 3, .tensor = 3})), UserError);
    group.barrier().wait();  // none of them left anything behind
  });
}

#ifndef OCTANT_TEST_MPI
TEST(Failure, ARankThatEndsWithoutJoiningIsNamed) {
  const WorldResult result = threads::run(3, {}, test_devices(all_have_progress_threads()), [](World& world) {
    if (world.rank() == 2) return;
    expect_thrown<PeerFailed>([&] { world.communicator().barrier().wait(); }, {"rank"});
  });
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_TRUE(contains(result.message, "rank 2 ended its work without joining barrier")) << result.message;
}

TEST(Failure, AWorldWithoutADeviceEnds) {
  const auto no_device = [](int rank) -> std::unique_ptr<Device> {
    if (rank == 1) throw UserError("no such device");
    return test_devices(all_have_progress_threads())(rank);
  };
  const WorldResult result =
      threads::run(2, {}, no_device, [](World& world) { world.communicator().barrier().wait(); });
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.message, "no such device");
}
#endif

}  // namespace
}  // namespace octant
