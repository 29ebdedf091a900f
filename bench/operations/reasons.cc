#include "bench/operations/reasons.h"

namespace octant::bench {

std::string reason_of(const std::string& name) {
  struct Reason {
    const char* part;
    const char* text;
  };
  for (const Reason& reason :
       {Reason{"gelu", "an exponential and a division an element: arithmetic, not memory"},
        {"swiglu", "an exponential and a division an element: arithmetic, not memory"},
        {"cross_entropy", "an exponential an element: arithmetic, not memory"},
        {"norm_", "two reductions over a row before it is written, in f32"},
        {"dropout", "ten rounds of Philox for every four elements"},
        {"normal_fill", "Philox, a logarithm, a sine and a cosine in double for every two elements"},
        {"attention", "softmax between the products, and half-empty blocks on the diagonal"},
        {"weight_gradient", "reads and adds to the f32 gradient"}}) {
    if (name.find(reason.part) != std::string::npos) return reason.text;
  }
  return "below 0.6 of the limit, for a reason that is not known";
}

}  // namespace octant::bench
