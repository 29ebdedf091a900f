#include "job/field_names.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <charconv>

#include "job/later.h"
#include "proto/job.pb.h"

namespace octant {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::vector<std::string> field_names(const Descriptor& block) {
  std::vector<std::string> names;
  for (int i = 0; i < block.field_count(); ++i) names.push_back(block.field(i)->name());
  return names;
}

struct Block {
  std::string path;
  const Descriptor* type;
};

// Every block of the spec, outermost first, each message type once for each place where it stands.
void collect_blocks(const std::string& path, const Descriptor& type, std::vector<Block>& out) {
  out.push_back({path, &type});
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      collect_blocks(join_path(path, field->name()), *field->message_type(), out);
  }
}

std::string quoted_list(const std::vector<std::string>& words, const char* last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace

int edit_distance(const std::string& a, const std::string& b) {
  const size_t n = a.size(), m = b.size();
  std::vector<std::vector<int>> d(n + 1, std::vector<int>(m + 1));
  for (size_t i = 0; i <= n; ++i) d[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= m; ++j) d[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= n; ++i) {
    for (size_t j = 1; j <= m; ++j) {
      const int substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[n][m];
}

namespace {

// A word that was cut short is nearer to the whole word than its length says: micro_bacth means
// micro_batch_size.
int slip_distance(const std::string& word, const std::string& candidate) {
  const int whole = edit_distance(word, candidate);
  if (word.size() < 4 || candidate.size() <= word.size()) return whole;
  return std::min(whole, edit_distance(word, candidate.substr(0, word.size())) + 1);
}

}  // namespace

std::optional<std::string> nearest_word(const std::string& word, const std::vector<std::string>& candidates) {
  // A name much longer than any field is no slip, and the table would cost the square of its length.
  if (word.size() > 100) return std::nullopt;
  std::optional<std::string> best;
  int best_distance = std::max(2, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& candidate : candidates) {
    const int distance = slip_distance(word, candidate);
    // Two edits turn any two-letter word into any other.
    if (distance < best_distance && distance < static_cast<int>(candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggest_field(const Descriptor& block, const std::string& block_path, const std::string& name) {
  if (auto near = nearest_word(name, field_names(block)); near && edit_distance(name, *near) <= 1)
    return "nearest name: " + *near;

  std::vector<Block> blocks;
  collect_blocks("", *spec::Job::descriptor(), blocks);
  std::vector<std::string> owners;
  for (const Block& other : blocks) {
    if (other.path != block_path && other.type != &block && other.type->FindFieldByName(name))
      owners.push_back(other.path.empty() ? "the top level" : other.path + " { }");
  }
  if (!owners.empty()) return name + " is a field of " + quoted_list(owners, " and of ");

  if (auto near = nearest_word(name, field_names(block))) return "nearest name: " + *near;
  std::optional<std::string> elsewhere;
  int distance = 0;
  for (const Block& other : blocks) {
    const auto near = nearest_word(name, field_names(*other.type));
    if (near && (!elsewhere || edit_distance(name, *near) < distance)) {
      elsewhere = join_path(other.path, *near);
      distance = edit_distance(name, *near);
    }
  }
  if (elsewhere) return "nearest name: " + *elsewhere;
  const std::string owner = block_path.empty() ? "the top level" : block_path + " { }";
  if (block.field_count() == 0) return owner + " has no fields";
  return "fields of " + owner + ": " + quoted_list(field_names(block), ", ");
}

std::vector<std::string> enum_words(const EnumDescriptor& type) {
  std::vector<std::string> words;
  for (int i = 0; i < type.value_count(); ++i)
    if (!is_later(*type.value(i))) words.push_back(type.value(i)->name());
  return words;
}

std::string suggest_enum(const EnumDescriptor& type, const std::string& word) {
  std::string upper = word;
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  std::vector<std::string> words = enum_words(type);
  if (auto near = nearest_word(upper, words)) {
    words.erase(std::find(words.begin(), words.end(), *near));
    words.insert(words.begin(), *near);
  }
  return "use " + quoted_list(words, " or ");
}

std::string join_path(const std::string& block_path, const std::string& name) {
  return block_path.empty() ? name : block_path + "." + name;
}

std::optional<std::string> value_text(const Message& message, const std::string& path) {
  const size_t dot = path.find('.');
  std::string name = path.substr(0, dot);
  int index = -1;
  if (const size_t bracket = name.find('['); bracket != std::string::npos) {
    std::from_chars(name.data() + bracket + 1, name.data() + name.size(), index);
    name.resize(bracket);
  }
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  const auto* reflection = message.GetReflection();
  if (!field) return std::nullopt;
  if (field->is_repeated() ? index >= reflection->FieldSize(message, field)
                           : !reflection->HasField(message, field))
    return std::nullopt;
  if (dot != std::string::npos) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || (field->is_repeated() && index < 0))
      return std::nullopt;
    const Message& inner = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, index)
                                                : reflection->GetMessage(message, field);
    return value_text(inner, path.substr(dot + 1));
  }
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return std::nullopt;
  std::string text;
  if (field->is_repeated() && index < 0) {
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      std::string element;
      google::protobuf::TextFormat::PrintFieldValueToString(message, field, i, &element);
      text += (i > 0 ? "," : "[") + element;
    }
    return text.empty() ? std::nullopt : std::optional<std::string>(text + "]");
  }
  google::protobuf::TextFormat::PrintFieldValueToString(message, field, index, &text);
  return text;
}

}  // namespace octant
