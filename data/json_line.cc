#include "data/json_line.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>

namespace octant {

namespace {

// The part of the library's message that says what is wrong, without the text it stands in, which may be long
// and not UTF-8.
std::string cause_of(const std::string& message) {
  const size_t dash = message.find(" - ");
  std::string cause = dash == std::string::npos ? message : message.substr(dash + 3);
  const size_t semicolon = cause.find("; last read");
  if (semicolon != std::string::npos) cause.resize(semicolon);
  if (cause.size() > 160) cause.resize(160);
  for (char& c : cause)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return cause;
}

// Events of the library's parser, which keeps its own stack of brackets on the heap. Returning false ends the
// reading.
class TextHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  TextHandler(const std::string& wanted, JsonText& result) : wanted_(wanted), result_(result) {}

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("a boolean"); }
  bool number_integer(number_integer_t) override { return value("a number"); }
  bool number_unsigned(number_unsigned_t) override { return value("a number"); }
  bool number_float(number_float_t, const string_t&) override { return value("a number"); }
  bool binary(binary_t&) override { return value("binary data"); }
  bool string(string_t& text) override {
    if (!at_wanted_) return value("a string");
    at_wanted_ = false;
    result_.text = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override { return value("an object") && open(); }
  bool start_array(std::size_t) override { return value("an array") && open(); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& name) override {
    if (depth_ != 1 || name != wanted_) return true;
    if (found_) return refuse(fmt::format("holds the key \"{}\" more than once", wanted_));
    found_ = true;
    at_wanted_ = true;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    return refuse(fmt::format("is not valid JSON at byte {}: {}", position, cause_of(error.what())));
  }

  bool found() const { return found_; }

 private:
  bool value(const char* what) {
    if (depth_ == 0 && std::string_view(what) != "an object")
      return refuse(fmt::format("is {}, expected an object with the key \"{}\"", what, wanted_));
    if (!at_wanted_) return true;
    return refuse(fmt::format("\"{}\" is {}, expected a string", wanted_, what));
  }
  bool open() {
    if (++depth_ <= kJsonDepthLimit) return true;
    return refuse(fmt::format("is nested deeper than {} levels", kJsonDepthLimit));
  }
  bool refuse(std::string reason) {
    result_.reason = std::move(reason);
    return false;
  }

  const std::string& wanted_;
  JsonText& result_;
  int depth_ = 0;
  bool found_ = false;
  bool at_wanted_ = false;
};

}  // namespace

JsonText read_json_line(std::string_view line, const std::string& key) {
  JsonText result;
  if (line.starts_with("\xEF\xBB\xBF")) {
    result.reason = "starts with a byte-order mark, which only the first line of a file may";
    return result;
  }
  TextHandler handler(key, result);
  result.ok = nlohmann::json::sax_parse(line.begin(), line.end(), &handler,
                                        nlohmann::json::input_format_t::json, /*strict=*/true);
  if (result.ok && !handler.found()) {
    result.ok = false;
    result.reason = fmt::format("has no key \"{}\" at its top level", key);
  }
  if (!result.ok) result.text.clear();
  return result;
}

}  // namespace octant
