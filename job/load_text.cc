// Text format, read by protobuf's own parser. It stops at the first wrong value; so that one reading shows
// all of them, a field whose value is of the wrong kind is reported, blanked (nothing else moves) and the
// rest is read again.
#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <algorithm>

#include "job/field_names.h"
#include "job/load.h"
#include "job/spec_tokens.h"

namespace octant {
namespace {

namespace pb = google::protobuf;

constexpr int kMaxWrongValues = 50;
constexpr size_t kMostErrors = 100;
constexpr int kMaxNesting = 64;

struct Remark {
  int line = 0, column = 0;
  std::string message;
};

struct Collector : pb::io::ErrorCollector {
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    errors.push_back({line, column, message});
  }
  void AddWarning(int line, pb::io::ColumnNumber column, const std::string& message) override {
    warnings.push_back({line, column, message});
  }
  std::vector<Remark> errors, warnings;
};

bool starts_with(const std::string& text, const char* prefix) {
  return text.rfind(prefix, 0) == 0;
}

std::string type_in_words(const pb::FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return "a whole number of at most 2147483647";
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return "a whole number";
    case pb::FieldDescriptor::CPPTYPE_UINT32:
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return "a whole number of at least 0";
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return "a string in quotes";
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return "a word";
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return "a block { }";
  }
  return "";
}

// The error as the field's own, if it is about the value of one field; then the rest can be read without it.
const WrittenField* wrong_field(const Remark& remark, const SpecTokens& tokens) {
  const size_t i = tokens.at(remark.line, remark.column);
  const bool about_previous = starts_with(remark.message, "Unknown enumeration value") ||
                              starts_with(remark.message, "Invalid value for boolean") ||
                              starts_with(remark.message, "Non-repeated field") ||
                              starts_with(remark.message, "Field \"");
  if (about_previous) return i == 0 ? nullptr : tokens.field_at(i - 1);
  const WrittenField* field = tokens.field_at(i);
  // At the name of a field the parser wanted something else: that is the grammar, not a value.
  if (!field || i < field->value) return nullptr;
  // Inside a block the same: the block itself is wrong only if it is no block.
  return field->field && field->field->message_type() && i > field->value ? nullptr : field;
}

SpecError describe(const Remark& remark, const WrittenField& written, const SpecTokens& tokens,
                   const std::string& text) {
  SpecError error;
  error.field = written.path;
  const SpecToken& name = tokens[written.name];
  if (starts_with(remark.message, "Non-repeated field") || starts_with(remark.message, "Field \"")) {
    error.place = tokens.place(name.line, name.column);
    const bool oneof = starts_with(remark.message, "Field \"");
    error.rule = oneof ? "stands beside another choice of the same kind" : "is given twice";
    error.fix = "keep one";
    return error;
  }
  const SpecToken& value = written.value < tokens.size() ? tokens[written.value] : name;
  error.place = tokens.place(value.line, value.column);
  error.value =
      text.substr(value.begin, std::min<size_t>(written.end - std::min(written.end, value.begin), 60));
  const pb::FieldDescriptor* field = written.field;
  error.rule = "must be " + type_in_words(*field);
  if (field->enum_type()) {
    error.rule = fmt::format("no such word for {}", field->name());
    error.fix = suggest_enum(*field->enum_type(), value.text);
  }
  return error;
}

SpecError grammar_error(const Remark& remark, const SpecTokens& tokens) {
  SpecError error{tokens.place(remark.line, remark.column), "", "", remark.message, ""};
  const WrittenField* open = tokens.unclosed();
  if (open && tokens.at(remark.line, remark.column) >= tokens.size()) {
    const SpecToken& name = tokens[open->name];
    error.rule = fmt::format("the file ends inside the block {} {{ of {}", open->path,
                             tokens.place(name.line, name.column));
    error.fix = "close it with }";
  }
  return error;
}

void collect_unknown(const Collector& collector, const SpecTokens& tokens, LoadedSpec& loaded) {
  for (const Remark& warning : collector.warnings) {
    if (loaded.errors.size() >= kMostErrors) return;
    const size_t i = tokens.at(warning.line, warning.column);
    const WrittenField* written = i == 0 ? nullptr : tokens.field_at(i - 1);
    SpecError error{tokens.place(warning.line, warning.column), "", "", warning.message, ""};
    if (written && !written->field && written->block_type) {
      const SpecToken& name = tokens[written->name];
      error.place = tokens.place(name.line, name.column);
      error.field = written->path;
      error.rule = "unknown field";
      error.fix = suggest_field(*written->block_type, written->block, name.text);
    }
    if (std::find(loaded.errors.begin(), loaded.errors.end(), error) == loaded.errors.end())
      loaded.errors.push_back(std::move(error));
  }
}

void record_places(const pb::Message& message, const pb::TextFormat::ParseInfoTree& tree,
                   const std::string& path, const SpecTokens& tokens,
                   std::map<std::string, std::string>& places) {
  const auto* reflection = message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      std::string here = join_path(path, field->name());
      const int index = field->is_repeated() ? i : -1;
      const auto where = tree.GetLocation(field, index);
      const std::string place = tokens.place(where.line, where.column);
      if (field->is_repeated()) {
        places.emplace(here, place);
        here += fmt::format("[{}]", i);
      }
      places[here] = place;
      const auto* nested = field->message_type() ? tree.GetTreeForNested(field, index) : nullptr;
      if (nested) {
        const pb::Message& inner = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                        : reflection->GetMessage(message, field);
        record_places(inner, *nested, here, tokens, places);
      }
    }
  }
}

}  // namespace

LoadedSpec parse_spec_text(const std::string& given, const std::string& source) {
  const pb::LogSilencer silence;
  LoadedSpec loaded;
  loaded.source = source;
  std::string text = given;
  for (int round = 0;; ++round) {
    const SpecTokens tokens(text, source);
    Collector collector;
    pb::TextFormat::ParseInfoTree tree;
    pb::TextFormat::Parser parser;
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(kMaxNesting);
    parser.RecordErrorsTo(&collector);
    parser.WriteLocationsTo(&tree);
    loaded.message.Clear();
    const bool good = parser.ParseFromString(text, &loaded.message);
    collect_unknown(collector, tokens, loaded);
    if (good) {
      record_places(loaded.message, tree, "", tokens, loaded.places);
      break;
    }
    const Remark first =
        collector.errors.empty() ? Remark{-1, 0, "cannot be read as a job spec"} : collector.errors.front();
    const WrittenField* written = wrong_field(first, tokens);
    if (written && written->field && round < kMaxWrongValues) {
      loaded.errors.push_back(describe(first, *written, tokens, text));
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(written->begin),
                text.begin() + static_cast<std::ptrdiff_t>(written->end), ' ');
      continue;
    }
    loaded.errors.push_back(grammar_error(first, tokens));
    loaded.complete = false;
    break;
  }
  return loaded;
}

}  // namespace octant
