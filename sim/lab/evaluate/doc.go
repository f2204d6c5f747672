// Package evaluate compares the compiler's predictions with results of the packet simulator: for one plan (Simulate), or for
// many random cases on all planes (Run).
//
// # Cases
//
// Generate draws case i of a seed. The fabric, the tenants and the traffic of a case are the same on all planes; only the
// link speed may differ.
//
//   - Fabric: a star of 8 to 32 hosts; a dumbbell of 4 to 24 hosts per side; leaf and spine with 2 to 6 leaves of 4 to 16
//     hosts and 1 to 3 uplinks of the hosts' speed; fat trees of 16 and 128 hosts. Every link has a delay of 1 us. Hosts have
//     10, 25, 40, 50 or 100 Gbit/s (25 and more on the RoCE plane); slow links are more frequent than fast ones, because they
//     cost less to simulate.
//   - Tenants: 2 to 16, limited by the number of hosts. Weights are whole numbers from 1 to 16; in a quarter of the
//     cases they are multiples of a quarter. Each tenant has 1 to 32 queue pairs from up to 4 hosts.
//   - Traffic: unlimited flows from hosts of a sending side to few hosts of a receiving side, where they contend; in one case
//     of six, hosts both send and receive.
//   - Three cases of ten have traffic of a special form (Case.Form): a tenant with a single fast queue pair and tenants with
//     8 to 16 slow ones each, at 25 to 200 Gbit/s; 40 tenants with one receiver; tenants that contend for two to four sending
//     ports and have at least four receivers.
//   - In a fifth of the other cases tenants share sending ports (Case.Shared); otherwise each has its own. On InfiniBand,
//     half of these allow the plan to set weights of virtual lanes.
//   - In six cases of ten the number of a tenant's queue pairs is such that the rates of single queue pairs are within about
//     4:1 (Case.Even). Others have any number.
//
// A draw is repeated when fewer than two tenants contend, or when the smallest tenant sends too few of the simulated packets
// for an accurate rate within the time limit of a case.
//
// # Results
//
// The error of a tenant is |simulated - predicted| / predicted, of the rate of all its flows over the counted window, for
// tenants that use a contended link of the plan. Link utilization is the traffic of the flows over the plan's contended
// links, compared with the same traffic on the unmanaged fabric: without congestion control on InfiniBand, with the vendor's
// defaults on RoCE, and unweighted on WRCC.
package evaluate
