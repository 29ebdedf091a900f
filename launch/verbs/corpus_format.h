// The names of corpus formats on the command line.
#pragma once

#include <map>
#include <string>

#include "data/build.h"

namespace octant {

inline std::map<std::string, CorpusFormat> corpus_formats() {
  return {{"text", CorpusFormat::kText}, {"jsonl", CorpusFormat::kJsonLines}};
}

}  // namespace octant
