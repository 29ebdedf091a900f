// --set path.to.field=value
#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <charconv>
#include <memory>

#include "job/field_names.h"
#include "job/load.h"

namespace octant {
namespace {

namespace pb = google::protobuf;

constexpr const char* kPlace = "--set";

struct Step {
  std::string name;
  std::optional<int> index;
};

std::optional<Step> parse_step(const std::string& text) {
  Step step{text, std::nullopt};
  const size_t bracket = text.find('[');
  if (bracket == std::string::npos) return step;
  int index = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + bracket + 1, end, index);
  if (error != std::errc() || index < 0 || stop + 1 != end || *stop != ']') return std::nullopt;
  return Step{text.substr(0, bracket), index};
}

std::string value_as_text(const pb::FieldDescriptor& field, const std::string& value) {
  const bool quoted = !value.empty() && (value[0] == '"' || value[0] == '\'');
  if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING && !quoted &&
      !(field.is_repeated() && value[0] == '[')) {
    std::string escaped;
    for (const char c : value) {
      if (c == '"' || c == '\\') escaped += '\\';
      escaped += c;
    }
    return field.name() + ": \"" + escaped + "\"";
  }
  if (field.is_repeated() && !field.message_type() && !quoted && value.find(',') != std::string::npos &&
      value[0] != '[')
    return field.name() + ": [" + value + "]";
  if (field.message_type() && (value.empty() || (value[0] != '{' && value[0] != '[')))
    return field.name() + " { " + value + " }";
  return field.name() + ": " + value;
}

// Parses `value` as the whole of one field, beside `block`: a broken value must leave the spec as it was.
std::string parse_value(const pb::Message& block, const pb::FieldDescriptor& field, const std::string& value,
                        std::unique_ptr<pb::Message>& out) {
  struct First : pb::io::ErrorCollector {
    void AddError(int, pb::io::ColumnNumber, const std::string& m) override {
      if (message.empty()) message = m;
    }
    void AddWarning(int, pb::io::ColumnNumber, const std::string&) override {}
    std::string message;
  } first;
  out.reset(block.New());
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&first);
  parser.SetRecursionLimit(64);
  if (value.empty() && field.cpp_type() != pb::FieldDescriptor::CPPTYPE_STRING) return "no value is given";
  if (!parser.ParseFromString(value_as_text(field, value), out.get()))
    return first.message.empty() ? "cannot be read" : first.message;
  std::vector<const pb::FieldDescriptor*> set;
  out->GetReflection()->ListFields(*out, &set);
  for (const pb::FieldDescriptor* other : set)
    if (other != &field) return "the value holds a further field, " + other->name();
  return "";
}

std::string fix_for(const pb::FieldDescriptor& field, const std::string& value) {
  if (field.enum_type()) return suggest_enum(*field.enum_type(), value);
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return "give a block in text format, {…}, or set one of its fields";
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return "use true or false";
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return "use a number";
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return "use a string";
    default:
      return field.is_repeated() ? "use whole numbers: [3,3]" : "use a whole number";
  }
}

}  // namespace

void apply_override(const std::string& assignment, LoadedSpec& loaded) {
  const pb::LogSilencer silence;
  const auto fail = [&](std::string field, std::string value, std::string rule, std::string fix) {
    loaded.errors.push_back({kPlace, std::move(field), std::move(value), std::move(rule), std::move(fix)});
  };
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail("", "", fmt::format("'{}' is not an assignment", assignment),
                "write --set path.to.field=value");
  const std::string path = assignment.substr(0, equals), value = assignment.substr(equals + 1);

  pb::Message* block = &loaded.message;
  std::string block_path;
  for (size_t begin = 0;;) {
    const size_t dot = path.find('.', begin);
    const bool last = dot == std::string::npos;
    const auto step = parse_step(path.substr(begin, last ? dot : dot - begin));
    if (!step) return fail(path, "", "a bad index", "count from 0: data.train[0].weight=0.5");
    const pb::FieldDescriptor* field = block->GetDescriptor()->FindFieldByName(step->name);
    if (!field)
      return fail(path, "", fmt::format("unknown field '{}'", step->name),
                  suggest_field(*block->GetDescriptor(), block_path, step->name));
    const auto* reflection = block->GetReflection();
    std::string here = join_path(block_path, step->name);
    if (step->index) {
      const int size = field->is_repeated() ? reflection->FieldSize(*block, field) : 0;
      if (!field->is_repeated()) return fail(path, "", step->name + " is not a list", "leave the index out");
      if (*step->index >= size)
        return fail(path, "", fmt::format("{} has {} elements", here, size),
                    size == 0 ? "set the whole list" : fmt::format("use an index of at most {}", size - 1));
      if (!field->message_type())
        return fail(path, "", "an element of a list of numbers", "set the whole list: " + here + "=[3,3]");
      here += fmt::format("[{}]", *step->index);
    }
    if (!last) {
      if (!field->message_type())
        return fail(path, "", here + " is a value, not a block", "end the path at " + here);
      if (field->is_repeated() && !step->index)
        return fail(path, "", here + " is a list of blocks", "name the element: " + here + "[0]");
      block = step->index ? reflection->MutableRepeatedMessage(block, field, *step->index)
                          : reflection->MutableMessage(block, field);
      block_path = here;
      begin = dot + 1;
      continue;
    }
    std::unique_ptr<pb::Message> parsed;
    if (const std::string wrong = parse_value(*block, *field, value, parsed); !wrong.empty())
      return fail(path, value, wrong, fix_for(*field, value));
    if (step->index) {
      const auto* source = parsed->GetReflection();
      if (source->FieldSize(*parsed, field) != 1)
        return fail(path, value, "one element is set with one block", "use {…}");
      reflection->MutableRepeatedMessage(block, field, *step->index)
          ->CopyFrom(source->GetRepeatedMessage(*parsed, field, 0));
    } else {
      reflection->ClearField(block, field);
      block->MergeFrom(*parsed);
    }
    // Whatever stood below came from the file and is gone.
    std::erase_if(loaded.places, [&](const auto& entry) {
      return entry.first.rfind(here, 0) == 0 &&
             (entry.first.size() == here.size() || entry.first[here.size()] == '.' ||
              entry.first[here.size()] == '[');
    });
    loaded.places[here] = kPlace;
    return;
  }
}

}  // namespace octant
