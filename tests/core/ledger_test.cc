#include <gtest/gtest.h>

#include "core/error.h"
#include "core/memory_ledger.h"

namespace octant {
namespace {

TEST(Ledger, CountsByKindAndKeepsPeaks) {
  MemoryLedger ledger;
  ledger.charge(MemoryKind::kParameters, 100);
  ledger.charge(MemoryKind::kActivations, 50);
  ledger.release(MemoryKind::kActivations, 50);
  ledger.charge(MemoryKind::kGradients, 20);
  EXPECT_EQ(ledger.current(MemoryKind::kParameters), 100);
  EXPECT_EQ(ledger.current(MemoryKind::kActivations), 0);
  EXPECT_EQ(ledger.peak(MemoryKind::kActivations), 50);
  EXPECT_EQ(ledger.current_total(), 120);
  EXPECT_EQ(ledger.peak_total(), 150);
}

TEST(Ledger, BudgetIsExact) {
  MemoryLedger ledger(1000);
  ledger.charge(MemoryKind::kOptimizer, 1000);
  ledger.charge(MemoryKind::kData, 0);
  EXPECT_THROW(ledger.charge(MemoryKind::kData, 1), MemoryError);
  EXPECT_EQ(ledger.current_total(), 1000);
  EXPECT_EQ(ledger.peak(MemoryKind::kData), 0);
  ledger.release(MemoryKind::kOptimizer, 1);
  EXPECT_NO_THROW(ledger.charge(MemoryKind::kData, 1));
  EXPECT_THROW(ledger.charge(MemoryKind::kData, INT64_MAX), MemoryError);
}

TEST(Ledger, MessageSaysWhatWouldWork) {
  MemoryLedger ledger(4 << 20);
  ledger.charge(MemoryKind::kParameters, 3 << 20);
  try {
    ledger.charge(MemoryKind::kActivations, 2 << 20);
    FAIL() << "the budget was passed";
  } catch (const MemoryError& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.exit_code(), ExitCode::kMemory);
    for (const char* part :
         {"2097152 bytes", "activations", "device.memory_limit=4194304", "5242880", "parameters", "3.000"}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " is missing in: " << message;
    }
  }
}

TEST(Ledger, TableHasEveryKind) {
  MemoryLedger ledger(1 << 20);
  const std::string table = ledger.table();
  for (const char* name : {"parameters", "gradients", "master_weights", "optimizer", "activations",
                           "communication", "workspace", "data", "total", "limit"}) {
    EXPECT_NE(table.find(name), std::string::npos) << name;
  }
}

TEST(Ledger, ReleasingMoreThanChargedIsABug) {
  MemoryLedger ledger;
  ledger.charge(MemoryKind::kData, 8);
  EXPECT_THROW(ledger.release(MemoryKind::kData, 9), BugError);
  EXPECT_THROW(ledger.release(MemoryKind::kWorkspace, 1), BugError);
  EXPECT_THROW(ledger.charge(MemoryKind::kData, -1), BugError);
  EXPECT_EQ(ledger.current_total(), 8);
}

}  // namespace
}  // namespace octant
