// Package workload makes the traffic of a simulation: which host sends how many bytes to which
// other host, and when. It is pure: the same options and the same seed give the same flows on every
// machine.
//
// Open-loop traffic is a Source: it hands out flows one by one in the order of time, makes each when
// it is asked for, and needs memory for the hosts but not for the flows. Poisson, Incast, Batch,
// Permutation, AllToAll, List and Trace are sources, and Merge makes one of several.
//
// Traffic whose flows wait for other flows is Reactive: it is told what has been delivered and answers
// with the flows that may start now. Collective is one: a ring, tree or all-to-all exchange among
// ranks.
//
// Hosts are numbered from 0 in the simulator's order (for a fabric of package subnet, the order of
// Fabric.Hosts). Sizes are payload bytes; headers are the simulator's affair.
package workload
