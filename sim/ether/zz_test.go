package ether
import ("fmt";"testing";"fairlane/subnet/topogen";"fairlane/sim/cc")
func TestZZ(t *testing.T) {
	topo, _ := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 4, Spines: 2})
	cfg := Config{Algorithms: []cc.Algorithm{build(t, "dcqcn-mlx", nil)}}
			cfg.ECN = ECN{Min: 5000, Max: 50_000, PMax: 0.2}
			cfg.Buffer = Buffer{Static: 200_000}
			var flows []FlowSpec
			for i := range int32(7) {
				flows = append(flows, FlowSpec{ID: int64(i), Src: i, Dst: 7})
			}
			n, _ := on(t, topo, cfg, flows...)
	for range 12 {
			n.RunUntil(n.Now()+2*ms)
			st:=n.Stats()
			fmt.Println(n.Now(), st.DeliveredPackets, st.Marks, st.Pauses, st.Events)
	}
	for f := range n.Flows { fmt.Printf("%+v %+v\n", f, n.flow(f.Slot)) }
}
