#include "job/spec_tokens.h"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <map>

#include "job/field_names.h"
#include "proto/job.pb.h"

namespace octant {
namespace {

namespace pb = google::protobuf;

// The parser proper reports what is wrong; this pass only wants to know where things stand.
struct Quiet : pb::io::ErrorCollector {
  void AddError(int, pb::io::ColumnNumber, const std::string&) override {}
};

// Walks from the byte at `column` to the one at `target`, on one line.
size_t advance_column(const std::string& text, size_t byte, int column, int target) {
  for (; column < target && byte < text.size() && text[byte] != '\n'; ++byte)
    column += text[byte] == '\t' ? 8 - column % 8 : 1;
  return byte;
}

constexpr size_t kMostBlocks = 100;

bool opens(const std::string& t) {
  return t == "{" || t == "<";
}
bool closes(const std::string& t) {
  return t == "}" || t == ">";
}

// An open block, or a list of blocks, while the tokens are walked.
struct OpenBlock {
  std::string path;
  const pb::Descriptor* type;
  std::map<std::string, int> seen;  // elements of repeated fields so far
  std::optional<size_t> written;    // index into fields_, to be closed with the block
};

}  // namespace

SpecTokens::SpecTokens(const std::string& text, const std::string& source) : text_(text), source_(source) {
  line_begin_.push_back(0);
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') line_begin_.push_back(i + 1);

  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  Quiet quiet;
  pb::io::Tokenizer tokenizer(&stream, &quiet);
  tokenizer.set_comment_style(pb::io::Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_allow_f_after_float(true);
  tokenizer.set_require_space_after_number(false);
  tokenizer.set_allow_multiline_strings(true);
  int line_before = -1, column_before = 0;  // tokens come in order: go on from the last one
  size_t byte_before = 0;
  while (tokenizer.Next()) {
    const auto& t = tokenizer.current();
    SpecToken token{t.text, t.line, t.column, 0, 0, t.type == pb::io::Tokenizer::TYPE_IDENTIFIER};
    if (t.line != line_before) {
      byte_before = line_begin_[std::min(static_cast<size_t>(t.line), line_begin_.size() - 1)];
      column_before = 0;
    }
    token.begin = advance_column(text, byte_before, column_before, t.column);
    line_before = t.line;
    column_before = t.column;
    byte_before = token.begin;
    token.end = std::min(text.size(), token.begin + t.text.size());
    tokens_.push_back(std::move(token));
  }
  read_fields(*spec::Job::descriptor());
}

std::string SpecTokens::place(int line, int column) const {
  if (line < 0) return source_;
  const size_t row = std::min(static_cast<size_t>(line), line_begin_.size() - 1);
  const size_t byte = advance_column(text_, line_begin_[row], 0, column);
  return fmt::format("{}:{}:{}", source_, row + 1, byte - line_begin_[row] + 1);
}

size_t SpecTokens::at(int line, int column) const {
  const auto before = [](const SpecToken& t, std::pair<int, int> where) {
    return std::pair(t.line, t.column) < where;
  };
  return static_cast<size_t>(
      std::lower_bound(tokens_.begin(), tokens_.end(), std::pair(line, column), before) - tokens_.begin());
}

const WrittenField* SpecTokens::field_at(size_t i) const {
  if (i >= tokens_.size()) return nullptr;
  const WrittenField* best = nullptr;
  for (const WrittenField& field : fields_) {
    if (field.name <= i && tokens_[i].begin >= field.begin && tokens_[i].begin < field.end) best = &field;
  }
  return best;
}

// Text format is `name: scalar`, `name: [list]`, `name { block }`: enough to follow, and lenient where it is
// broken.
void SpecTokens::read_fields(const pb::Descriptor& root) {
  std::vector<OpenBlock> open;
  open.push_back({"", &root, {}, std::nullopt});
  size_t i = 0;
  while (i < tokens_.size()) {
    const std::string& text = tokens_[i].text;
    if (closes(text)) {
      if (open.size() > 1) {
        fields_[*open.back().written].end = tokens_[i].end;
        open.pop_back();
      }
      ++i;
      continue;
    }
    if (!tokens_[i].identifier) {
      ++i;
      continue;
    }
    OpenBlock& block = open.back();
    WrittenField written;
    written.name = i;
    written.begin = tokens_[i].begin;
    written.block = block.path;
    written.block_type = block.type;
    written.field = block.type ? block.type->FindFieldByName(text) : nullptr;
    written.path = join_path(block.path, text);
    if (written.field && written.field->is_repeated() && written.field->message_type())
      written.path += fmt::format("[{}]", block.seen[text]++);
    size_t v = i + 1;
    if (v < tokens_.size() && tokens_[v].text == ":") ++v;
    written.value = v;
    if (v >= tokens_.size()) {
      written.end = text_.size();
      fields_.push_back(written);
      break;
    }
    // Deeper than any spec; paths grow with the depth.
    if (open.size() > kMostBlocks) break;
    if (opens(tokens_[v].text)) {
      written.end = text_.size();
      fields_.push_back(written);
      open.push_back(
          {written.path, written.field ? written.field->message_type() : nullptr, {}, fields_.size() - 1});
      i = v + 1;
      continue;
    }
    size_t last = v;
    if (tokens_[v].text == "[") {
      while (last + 1 < tokens_.size() && tokens_[last].text != "]") ++last;
    } else if (tokens_[v].text == "-" && v + 1 < tokens_.size()) {
      last = v + 1;
    } else if (closes(tokens_[v].text)) {
      last = v - 1;  // no value at all
    }
    written.end = tokens_[last].end;
    fields_.push_back(written);
    i = last + 1;
  }
  unclosed_ = open.back().written;
}

}  // namespace octant
