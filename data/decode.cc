// The way back of data/build.h: from token ids to text.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "core/error.h"
#include "data/build.h"
#include "data/byte_tokenizer.h"

namespace octant {

std::string decode_document(const IndexedDataset& dataset, int64_t document) {
  const IndexView& index = dataset.index();
  if (document < 0 || document >= index.documents())
    throw UserError(fmt::format("{}: document {} is asked for, but it holds {} (numbered from 0)",
                                dataset.index_path(), document, index.documents()));
  const int64_t begin = index.first_token(index.first_sequence(document));
  const int64_t end = index.first_token(index.first_sequence(document + 1));
  std::vector<int32_t> ids(static_cast<size_t>(end - begin));
  dataset.tokens(begin, ids);
  return ByteTokenizer::decode(ids);
}

int64_t decode_dataset(const IndexedDataset& dataset, CorpusFormat format, const std::string& key,
                       std::ostream& out) {
  const int64_t documents = dataset.index().documents();
  for (int64_t document = 0; document < documents; ++document) {
    const std::string text = decode_document(dataset, document);
    if (format == CorpusFormat::kText) {
      out.write(text.data(), static_cast<std::streamsize>(text.size()));
      continue;
    }
    try {
      out << nlohmann::json{{key, text}}.dump() << '\n';
    } catch (const nlohmann::json::type_error&) {
      throw DataError(
          fmt::format("{}: document {} is not valid UTF-8, which JSON needs; decode it as plain text",
                      dataset.path(), document));
    }
  }
  if (!out) throw DataError(fmt::format("{}: the decoded text could not be written", dataset.path()));
  return documents;
}

}  // namespace octant
