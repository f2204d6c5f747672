// Package telemetry turns the counters of ports into delivered rates, and those into what
// each tenant got of what it was entitled to.
//
// # Time
//
// A rate is octets over time on the clock of the device that counted them: the TimeStamp of
// congestion control (class 0x21, units of 1.024 us) is read before and after the counters,
// and the counters are taken to be of the middle. On a simulated fabric that clock runs in
// simulated time, so the rates come out right whatever the pace of the simulation. A device
// without TimeStamp is measured by the wall clock times Options.TimeScale.
//
// # Counters
//
// PortXmitDataSL (class 0x04) has 32 bits for each SL in units of four octets, and devices
// differ in whether it wraps or sticks at its end. It holds 16 GiB: 1.37 s at 100 Gbit/s. So a
// window is measured in parts: a counter beyond half its range is cleared, the next reading is the base line, and readings
// follow each other within SafeInterval, a quarter of the time to the end, over which a difference is unique. The differences
// and their times are added up in 64 bits. The time between two readings is left out where their difference is ambiguous: a
// counter at its end, a late reading, a clear by another collector, a restart. A rate is of the measured time only; coverage is
// the part of the window that was measured. Under a third of it there is no rate, and the reason instead.
//
// Clears by another collector are detected with the 64-bit PortCountersExtended: the counters by SL of a port add up to
// what it sent, within 1/64 and what the link carries during a reading. With Options.KeepCounters nothing is cleared, and an SL
// whose counter stands at its end is not measured.
//
// # Ethernet
//
// A tenant that has a NIC port to itself is what the port sends, one of several on a port what its virtual function sends, and on
// the WRCC plane what its senders send. A contended link is what the NIC at its end counts, or else the switch that sends
// on it, which may look at its counters seldom. Octets are those on the wire, by the clock of the device that counted them; WRCC
// switches tell no time and are timed by the wall clock times the scale.
//
// # Congestion
//
// CongestionWatch reads, beside the shares, what congestion control did: notifications (BECN) by port and SL, how long
// contended links waited, by VL, and the congestion logs of adapters and switches. Entries of a log are new when their
// TimeStamp lies between the device's clock at the reading before and now; they belong to the tenant whose SL on the
// sending port is its alone. Sums and the last readings are kept, and no history.
//
// A counter that cannot be read, ran away, was cleared by someone else or sat at its end is
// an error of that port in that window. It is never a zero.
package telemetry
