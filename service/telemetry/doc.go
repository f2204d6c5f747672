// Package telemetry computes delivered rates from the counters of ports, and from these each tenant's delivered share
// against its entitlement.
//
// # Time
//
// A rate is octets over time on the clock of the device that counted them. The TimeStamp of congestion control (class
// 0x21, units of 1.024 us) is read before and after the counters, and the counters are attributed to the middle. On a
// simulated fabric that clock runs in simulated time, so the rates are correct at any pace of the simulation. A device
// without TimeStamp is measured by the wall clock times Options.TimeScale.
//
// # Counters
//
// PortXmitDataSL (class 0x04) has 32 bits for each SL in units of four octets, and devices differ in whether it wraps or
// saturates. It holds 16 GiB: 1.37 s at 100 Gbit/s. So a window is measured in intervals. A counter beyond half its range
// is cleared, and the next reading is the baseline. Readings follow each other within SafeInterval, a quarter of the time
// to the end, so that each difference is unique. The differences and their times are summed in 64 bits. The time between
// two readings is not counted where their difference is ambiguous: a saturated counter, a late reading, a clear by
// another collector, a restart. A rate covers the measured time only; coverage is the measured fraction of the window.
// Below a third there is no rate, but a reason.
//
// Clears by another collector are detected with the 64-bit PortCountersExtended: the counters by SL of a port must add up
// to what it sent, within 1/64 plus what the link carries during a reading. With Options.KeepCounters nothing is cleared,
// and an SL with a saturated counter is not measured.
//
// # Ethernet
//
// A tenant with its own NIC port is measured by the port's counter, a tenant that shares a port by that of its virtual
// function, and on the WRCC plane by those of its senders. A contended link is measured by the NIC at its end, or else by
// the switch that sends on it, which may refresh its counters rarely. Octets are those on the wire, by the clock of the
// device that counted them. WRCC switches report no time and are timed by the wall clock times the scale.
//
// # Congestion
//
// CongestionWatch reads, in addition to the shares, the activity of congestion control: notifications (BECN) by port and
// SL, how long contended links waited, by VL, and the congestion logs of adapters and switches. Entries of a log are new
// when their TimeStamp lies between the device's clock at the previous reading and now. They are attributed to the only
// tenant that uses the SL on the sending port. The watch stores sums and the last readings, without history.
//
// A counter that cannot be read, jumped, was cleared by another program or was saturated is an error of that port in that
// window. It is never reported as zero.
package telemetry
