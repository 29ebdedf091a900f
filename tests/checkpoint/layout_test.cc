// Written as one layout, read as any other: every element of every tensor arrives where the reading layout
// wants it.
#include <gtest/gtest.h>

#include <functional>

#include "checkpoint/inspect.h"
#include "core/error.h"
#include "tests/checkpoint/simulated_job.h"
#include "tests/checkpoint/temp_folder.h"

namespace octant {
namespace {

const SimulatedLayout kLayouts[] = {{1, 1, 1}, {4, 1, 1}, {3, 1, 1}, {1, 2, 1},
                                    {1, 4, 2}, {2, 2, 2}, {5, 3, 3}, {2, 1, 4}};

TEST(C11_Layouts, EveryLayoutReadsWhatEveryOtherWrote) {
  TempFolder temp;
  int64_t step = 0;
  for (const SimulatedLayout& writer : kLayouts) {
    CheckpointReader reader(save_simulated(temp.path(), ++step, writer));
    for (const SimulatedLayout& layout : kLayouts)
      for (int rank = 0; rank < layout.ranks(); ++rank)
        for (const SimulatedPiece& piece : pieces_of_rank(layout, rank))
          for (stored::TensorKind kind : kAllKinds) {
            const std::vector<float> wanted = values_of(piece, kind);
            std::vector<float> found(wanted.size(), -1);
            reader.read(piece.tensor->name, kind, piece.tensor->shape, piece.range, found.data());
            ASSERT_EQ(found, wanted) << piece.tensor->name << " " << to_string(piece.range);
          }
  }
}

TEST(C11_Layouts, CheckpointsOfAllLayoutsAreBitEqual) {
  TempFolder temp;
  const auto one = save_simulated(temp.path(), 1, {1, 1, 1});
  int64_t step = 1;
  for (const SimulatedLayout& layout : kLayouts) {
    const DiffReport diff = diff_checkpoints(one, save_simulated(temp.path(), ++step, layout));
    EXPECT_TRUE(diff.same()) << diff.text();
    EXPECT_EQ(diff.tensors.size(), 3 * simulated_model().size());
  }
}

TEST(C15_LogicalShape, TheManifestKnowsNoPadding) {
  TempFolder temp;
  for (const SimulatedLayout& layout : {SimulatedLayout{1, 1, 1}, SimulatedLayout{1, 4, 1}}) {
    const auto folder = save_simulated(temp.path(), layout.tensor, layout);
    const stored::Manifest manifest = read_manifest(folder);
    EXPECT_EQ(shape_of(*find_tensor(manifest, "wte.weight", stored::WEIGHT)), (Shape{257, 12}));
    expect_says(checkpoint_info(folder), {"257x12", "adamw", "complete"});
  }
}

// A column part of a matrix: rows shorter than one read, and rows longer; the batches of short rows cross
// their limits.
TEST(Layouts, ColumnsOfWideAndNarrowMatrices) {
  TempFolder temp;
  for (const Shape& shape : {Shape{700, 9}, Shape{1500, 1200}, Shape{3, 150000}}) {
    std::vector<float> all(static_cast<size_t>(shape.elements()));
    for (size_t index = 0; index < all.size(); ++index) all[index] = static_cast<float>(index);
    begin_save(temp.path(), 1);
    const SaveEntry entry{"m", stored::WEIGHT, shape, whole(shape), all.data()};
    const std::vector<std::string> fragments{write_rank_file(temp.path(), 1, 0, {&entry, 1})};
    commit_save(temp.path(), combine(simulated_header(1), fragments), 1);
    CheckpointReader reader(temp.path() / "step_00000001");
    for (int64_t column : {int64_t{0}, shape[1] / 3, shape[1] - 2})
      for (int64_t width : {int64_t{1}, int64_t{2}, (shape[1] - column) / 2 + 1}) {
        if (column + width > shape[1]) continue;
        const SliceRange range{{{0, column}, {shape[0], width}}, 1, shape[0] * width - 1};
        std::vector<float> found(static_cast<size_t>(range.count()));
        reader.read("m", stored::WEIGHT, shape, range, found.data());
        for (int64_t at = 0; at < range.count(); ++at) {
          const int64_t flat = range.begin + at;
          ASSERT_EQ(found[static_cast<size_t>(at)],
                    static_cast<float>(flat / width * shape[1] + column + flat % width));
        }
      }
  }
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Reader, MissingTensorAndOtherShapeNameBothSides) {
  TempFolder temp;
  const auto folder = save_simulated(temp.path(), 3, {2, 1, 1});
  CheckpointReader reader(folder);
  float sink[4];
  EXPECT_TRUE(reader.has("wte.weight", stored::EXP_AVG));
  EXPECT_FALSE(reader.has("wte.weights", stored::EXP_AVG));
  expect_says(error_of([&] { reader.read("h.0.mlp.gate.weight", stored::WEIGHT, {4}, whole({4}), sink); }),
              {folder.string(), "weight 'h.0.mlp.gate.weight' 4", "lacks", "nearest is 'h.0.mlp."});
  expect_says(error_of([&] { reader.read("h.0.ln.weight", stored::EXP_AVG, {4}, whole({4}), sink); }),
              {folder.string(), "exp_avg 'h.0.ln.weight' is 12 in this checkpoint, but 4 in the model"});
}

TEST(Reader, HolesInTheCoverageAreRefused) {
  TempFolder temp;
  const auto folder = save_simulated(temp.path(), 3, {2, 1, 1});
  stored::Manifest manifest = read_manifest(folder);
  for (stored::Tensor& tensor : *manifest.mutable_tensors())
    if (tensor.name() == "wte.weight") tensor.mutable_slices()->RemoveLast();
  write_manifest(manifest, folder);
  CheckpointReader reader(folder);
  std::vector<float> sink(257 * 12);
  expect_says(error_of([&] {
                reader.read("wte.weight", stored::WEIGHT, {257, 12}, whole({257, 12}), sink.data());
              }),
              {"weight 'wte.weight'", "1542 of its elements are in no file"});
  EXPECT_FALSE(verify_checkpoint(folder).ok());
}

}  // namespace
}  // namespace octant
