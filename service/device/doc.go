// Package device applies a plan to devices and reports exactly what was achieved. A device counts as done when a read
// found the plan's settings, never because a write was sent or acknowledged.
//
// # States of a device
//
//	                    observe: read equal / read different
//	         Unknown ------------------------------------> InSync / Drifted
//	            |                                             |        |
//	            | a rollout starts on the device              |        |
//	            v                                             |        |
//	         Pending <----------------------------------------+--------+
//	            |   \-----------------> InSync       read equal before any write
//	            |    \----------------> Failed       cannot be read, nothing written
//	            |     \---------------> Unsupported  cannot hold settings, nothing written
//	            v
//	+------> Applying ----------------> Unsupported  rejected before the first write
//	|           |    \----------------> Failed       rejected
//	|           v
//	+------ Verifying ----------------> InSync       read equal to the desired settings
//	| again     |    \----------------> RolledBack   read equal to the previous settings
//	|           v
//	+-------- Failed                                 attempts used up
//	| back
//	+-------- InSync                                 the rollout is undone
//
// Failed, RolledBack, Unsupported, InSync, Drifted and Unknown go to Pending when the next rollout starts on the device.
// Pending, Applying and Verifying go to Unknown when a rollout pauses in the middle of the device: its state is unknown
// until it is read again.
//
// # Order
//
// Channel adapters come before switches. Then nothing changes until marking begins, and every sender reacts with its
// final parameters. In the other order, the adapters configured first would be throttled alone, in favour of those not
// yet configured. A plan that turns marking off uses the other order for the same reason. NIC ports and switches that
// mark on Ethernet follow the same rule. With WRCC, switches come first: their minimum and maximum fair rates make room
// for the weights before a sender has one, and no order loses a packet. A roll-back undoes the waves in the reverse
// order.
//
// # Crashes
//
// The settings of a device before its first write are recorded before that write. So work that is interrupted - process
// killed, context cancelled, recorder failed - leaves enough behind to finish or to undo it: pass the recorded values in
// the items of the next Part.
package device
