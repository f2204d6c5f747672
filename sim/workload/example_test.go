package workload_test

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/workload"
)

// A simulator takes each flow when its time has come and tells its delivery; here every flow takes 100
// us.
func ExampleTraffic() {
	background, err := workload.NewLong(workload.LongOptions{Pairs: [][2]int32{{4, 5}}, Bytes: 1_000_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	job, err := workload.NewCollective(workload.CollectiveOptions{
		Kind: workload.RingAllReduce, Hosts: []int32{0, 1, 2, 3}, Bytes: 4_000_000,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	traffic := workload.NewTraffic(background, job)
	flows := 0
	for traffic.NextAt() != sim.Never {
		a, _ := traffic.Next()
		flows++
		traffic.Done(a.Job, a.Flow, a.At+100*quantity.Microsecond)
	}
	r, finished := job.Result()
	fmt.Println(flows, "flows, finished:", finished, "after", r.Last)
	fmt.Printf("bus bandwidth %.1f Gbit/s\n", r.BusBandwidth()/1e9)
	// Output:
	// 25 flows, finished: true after 600 us
	// bus bandwidth 80.0 Gbit/s
}
