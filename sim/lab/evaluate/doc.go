// Package evaluate sets the compiler's predictions beside what the packet simulator gives: one
// plan (Simulate), or many random cases on all planes (Run).
//
// # Cases
//
// Generate draws case i of a seed. The fabric, the tenants and the traffic of a case are the same on
// all planes; only the speed of its links may differ.
//
//   - Fabric: a star of 8 to 32 hosts; a dumbbell of 4 to 24 hosts a side; leaf and spine with 2 to
//     6 leaves of 4 to 16 hosts and 1 to 3 uplinks as fast as a host's; fat trees of 16 and 128 hosts. Every link is 1 us long. Hosts have 10, 25, 40, 50 or 100 Gbit/s (25 and more on
//     the RoCE plane); slow links are more frequent than fast ones, because they cost less to simulate.
//   - Tenants: 2 to 16, as many as there are hosts for. Weights are whole, 1 to 16, and in a quarter of
//     the cases multiples of a quarter. Each has 1 to 32 queue pairs from up to 4 hosts.
//   - Traffic: greedy flows from hosts of a sending side to few hosts of a receiving side, which is where
//     they meet; in one case of six hosts send and receive.
//   - Three cases of ten have traffic of a special form (Case.Form): a single fast queue pair beside tenants with 8 to 16 slow
//     ones each, at 25 to 200 Gbit/s; 40 tenants with one receiver; tenants that contend for two to four sending ports and
//     have four receivers and more.
//   - In a fifth of the other cases tenants share sending ports (Case.Shared); else each has its own. Half of
//     these let the plan weigh virtual lanes, on InfiniBand.
//   - In six cases of ten the queue pairs of a tenant are so many that the rates of single queue
//     pairs are within about 4:1 (Case.Even). Others have any number.
//
// A draw is made anew when fewer than two tenants meet, or when the smallest tenant has so small a part of
// the packets to be simulated that its rate could not be counted in the time that a case may take.
//
// # Figures
//
// The error of a tenant is |simulated - predicted| / predicted of the rate of all its flows over the
// window that counts, for tenants that cross a contended link of the plan. Link use is what flows carry
// over the plan's contended links, beside the same traffic on the fabric as it came: without congestion
// control on InfiniBand, with the vendor's defaults on RoCE, and unweighted on WRCC.
package evaluate
