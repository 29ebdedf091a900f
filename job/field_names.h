// Names of fields: the nearest valid one for a misspelt one, and values by path.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <optional>
#include <string>
#include <vector>

namespace octant {

// Single-character edits, a swap of neighbours counted as one (Damerau 1964, optimal string alignment).
int edit_distance(const std::string& a, const std::string& b);

// The candidate nearest to `word`, if it is near enough to be a slip of the hand.
std::optional<std::string> nearest_word(const std::string& word, const std::vector<std::string>& candidates);

// What to write instead of the unknown `name` inside the block at `block_path` (empty: the top level): the
// nearest name of the block, the other block that has the field, or the block's fields.
std::string suggest_field(const google::protobuf::Descriptor& block, const std::string& block_path,
                          const std::string& name);

// The words that are accepted: those of later issues are left out.
std::vector<std::string> enum_words(const google::protobuf::EnumDescriptor& type);
// "use A, B or C"; with the nearest word first where `word` looks like a slip of it.
std::string suggest_enum(const google::protobuf::EnumDescriptor& type, const std::string& word);

std::string join_path(const std::string& block_path, const std::string& name);

// The value of a scalar field, as text format would print it; nullopt where it or a block on the way is not
// given.
std::optional<std::string> value_text(const google::protobuf::Message& message, const std::string& path);

}  // namespace octant
