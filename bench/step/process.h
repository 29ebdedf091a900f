// What the system knows about this process and this machine.
#pragma once

namespace octant::bench {

// The most memory that this process has had resident, with all ranks that are its threads.
double peak_resident_bytes();

// As the kernel counts it, in steps of its clock tick (10 ms as a rule); 0 where it does not say.
double seconds_since_process_start();

// Over the last minute; 0 where it is not known.
double load_average();

}  // namespace octant::bench
