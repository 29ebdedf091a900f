// The tokens of a text-format spec with their places: which field an error of protobuf's parser is about, and
// where it stands.
//
// protobuf reports the token at which it stopped, often the one after the mistake, in columns that count a
// tab as a jump to the next multiple of eight. Here they become the field's path and the byte column that an
// editor shows.
#pragma once

#include <google/protobuf/descriptor.h>

#include <optional>
#include <string>
#include <vector>

namespace octant {

struct SpecToken {
  std::string text;
  int line = 0;               // from 0, as protobuf counts
  int column = 0;             // from 0, tabs expanded
  size_t begin = 0, end = 0;  // bytes of the source
  bool identifier = false;
};

// A field as written: from its name to the end of its value.
struct WrittenField {
  size_t name = 0, value = 0;  // token indices; value: the first token after the colon
  size_t begin = 0, end = 0;   // bytes of the source
  std::string path;            // "data.train[1].weight"
  std::string block;           // path of the block around it
  const google::protobuf::Descriptor* block_type = nullptr;  // null inside an unknown block
  const google::protobuf::FieldDescriptor* field = nullptr;  // null if the block has no such field
};

class SpecTokens {
 public:
  SpecTokens(const std::string& text, const std::string& source);

  // "job.pbtxt:12:3", from protobuf's line and column.
  std::string place(int line, int column) const;
  // Index of the first token at or behind this place; size() behind the last.
  size_t at(int line, int column) const;
  size_t size() const { return tokens_.size(); }
  const SpecToken& operator[](size_t i) const { return tokens_[i]; }

  // Innermost field whose name or scalar value covers token i.
  const WrittenField* field_at(size_t i) const;
  // Innermost block that is open where the source ends.
  const WrittenField* unclosed() const { return unclosed_ ? &fields_[*unclosed_] : nullptr; }

 private:
  void read_fields(const google::protobuf::Descriptor& root);

  const std::string& text_;
  std::string source_;
  std::vector<size_t> line_begin_;
  std::vector<SpecToken> tokens_;
  std::vector<WrittenField> fields_;
  std::optional<size_t> unclosed_;
};

}  // namespace octant
