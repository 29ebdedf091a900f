#include "data/source.h"

#include "data/indexed_dataset.h"
#include "data/text_dataset.h"

namespace octant {

std::unique_ptr<TokenSource> open_source(const SourceConfig& config) {
  if (config.kind == SourceKind::kText) return std::make_unique<TextDataset>(config.path);
  return std::make_unique<IndexedDataset>(config.path, config.mask_prefix);
}

}  // namespace octant
