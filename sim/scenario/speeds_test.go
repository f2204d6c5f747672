package scenario

import (
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

const mixedLinks = "node_a,kind_a,port_a,node_b,kind_b,port_b,rate_bps,delay_ns\n" +
	"0,host,1,9,switch,1,25000000000,1000\n1,host,1,9,switch,2,100000000000,1000\n2,host,1,9,switch,3,100000000000,1000\n" +
	"9,switch,4,8,switch,1,400000000000,1000\n3,host,1,8,switch,2,100000000000,1000\n"

// Settings that scale are reported with their value at each rate. Settings that do not scale are listed.
func TestSettingsAtEachRateOfLinks(t *testing.T) {
	t.Parallel()
	g := quantity.Gbps
	for _, c := range []struct {
		text  string
		ecn   [3]int64 // min at 25, 100 and 400 Gbit/s
		alpha [3]float64
		step  [2]float64 // first step of the first control at 25 and 100 Gbit/s
		same  string
	}{
		{"congestion_control: {algorithm: dcqcn-peer}\n", [3]int64{100_000, 400_000, 1_600_000}, [3]float64{0.125, 0.5, 1}, [2]float64{5e6, 20e6}, ""},
		{"congestion_control: {algorithm: dcqcn-peer, r_ai: 10Mbit/s, rate_per: none}\n", [3]int64{100_000, 400_000, 1_600_000}, [3]float64{0.125, 0.5, 1},
			[2]float64{10e6, 10e6}, "dcqcn-peer.r_ai, dcqcn-peer.r_hai"},
		{"congestion_control: {algorithm: dcqcn, rate_per: 25Gbit/s}\nmodel: {ecn: {min: 5000, max: 9000, rate_per: none}, buffer: {alpha_rate: none}}\n",
			[3]int64{5000, 5000, 5000}, [3]float64{0.125, 0.125, 0.125}, [2]float64{40e6, 160e6}, "model.ecn, model.buffer.alpha"},
		{"congestion_control: {name: a, algorithm: dcqcn}\nmodel: {ecn: {min: 1000, max: 2000, rate_per: 10Gbit/s}, buffer: {alpha_rate: 100Gbit/s}}\n",
			[3]int64{2500, 10_000, 40_000}, [3]float64{0.125, 0.125, 0.5}, [2]float64{40e6, 40e6}, "a.r_ai, a.r_hai"},
		{"congestion_control: {algorithm: dcqcn-p}\n", [3]int64{100_000, 400_000, 1_600_000}, [3]float64{0.125, 0.5, 1}, [2]float64{5e9, 20e9}, ""},
		{"congestion_control: {algorithm: timely, rate_per: 50Gbit/s}\nmodel: {ecn: {off: true}}\n", [3]int64{}, [3]float64{0.125, 0.5, 1}, [2]float64{50e6, 200e6}, ""},
	} {
		s := parseBeside(t, t.TempDir(), map[string]string{"links.csv": mixedLinks}, "fabric: {links: links.csv}\nflows: [{src: 0, dst: 1}]\n"+c.text)
		got := s.Speeds()
		if len(got) != 3 || got[0].RateBps != 25*g || got[0].Hosts != 1 || got[1].Links != 3 || got[2].Hosts != 0 || got[2].Controls != nil {
			t.Fatalf("%+v", got)
		}
		for i, v := range got {
			if v.ECNMin != c.ecn[i] || v.PFCAlpha != c.alpha[i] || i < 2 && v.Controls[0].Steps[0].Bps != c.step[i] {
				t.Errorf("%s at %s: %+v", c.text, v.RateBps, v)
			}
		}
		if same := strings.Join(s.Unscaled(), ", "); same != c.same {
			t.Errorf("%s: not scaled: %q, want %q", c.text, same, c.same)
		}
		if est := s.Estimate(); len(est.Speeds) != 3 {
			t.Errorf("estimate %+v", est)
		}
	}
	if same := parse(t, "model: {ecn: {min: 1, max: 2, rate_per: none}}\nflows: [{src: h1, dst: h2}]\n").Unscaled(); same != nil {
		t.Errorf("links of one rate: %q", same)
	}
	_, err := Parse("x.yaml", []byte("name: x\nplane: ethernet\nfabric: {topology: star, hosts: 2}\nmodel: {ecn: {min: 1, max: 2, rate_per: 0Gbit/s}}\nflows: [{src: h1, dst: h2}]\n"), nil)
	if err == nil || !strings.Contains(err.Error(), `x.yaml:4: ecn.rate_per: found "0Gbit/s": want none, or a rate above 0 such as 100Gbit/s`) {
		t.Error(err)
	}
	for _, name := range []string{"dcqcn", "dcqcn-peer", "hpcc", "timely", "dctcp"} {
		spec, err := cc.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := spec.Build(cc.Values{"rate_per": 0}); err != nil {
			t.Errorf("%s: rate_per none: %v", name, err)
		}
		if p, _ := spec.Param("rate_per"); p.Text(0) != "none" || !strings.HasPrefix(p.Allowed(), "none, or a rate from 1") {
			t.Errorf("%s: %s, %s", name, p.Text(0), p.Allowed())
		}
	}
}
