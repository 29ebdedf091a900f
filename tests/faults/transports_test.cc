// One command, two transports: what it writes on MPI processes is what it writes on thread ranks.
#include "tests/faults/job.h"

namespace octant::faults {
namespace {

TEST_F(Faults, SameRunOnThreadsAndProcesses) {
  int round = 0;
  for (const Set& layout :
       {Set{"parallel={data:2 tensor:2 sequence_parallel:true}", "zero_optimization.stage=1"},
        Set{"parallel={data:2 pipeline:2}", "zero_optimization.stage=3"}}) {
    const std::string name = std::to_string(round++);
    Set threads = layout, processes = layout;
    for (Set* set : {&threads, &processes}) set->push_back("checkpoint.interval=3");
    processes.push_back("device.progress_thread=ON");
    threads.push_back("output_dir=threads" + name);
    processes.push_back("output_dir=processes" + name);
    const Ended one = train(threads);
    ASSERT_EQ(one.code, 0) << one.text();
    const Ended many = train(processes, Ranks::kMpi, 4);
    ASSERT_EQ(many.code, 0) << many.text();
    EXPECT_NE(many.out.find("on mpi"), std::string::npos) << many.out;
    EXPECT_EQ(steps_done("threads" + name), 6);
    EXPECT_EQ(curve("threads" + name), curve("processes" + name));
    const Ended difference = run(octant({"checkpoint", "diff", "threads" + name, "processes" + name}));
    EXPECT_EQ(difference.code, 0) << difference.text();
  }
}

}  // namespace
}  // namespace octant::faults
