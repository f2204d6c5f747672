package api

import (
	"encoding/json"
	"math"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/qos"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

func TestSettingsOfEthernetDevicesInJSON(t *testing.T) {
	t.Parallel()
	weight := wrcc.FixedWeight{Multiplier: 5, Shift: 1}
	for want, s := range map[string]driver.Settings{
		`{"nic":{"params":[{"name":"rpg_gd","value":11},{"index":3,"name":"tc_bw","value":9223372036854775807}]}}`: {NIC: &driver.NICState{
			Params: []driver.NICParam{{Name: "rpg_gd", Value: 11}, {Name: "tc_bw", Index: 3, Value: math.MaxUint64}},
		}},
		`{"nic":{"params":[],"wrcc":{"domain":2,"increase":"ask","min_rate_mbps":7,"senders":[{"name":"gold/default","peers":[{"port":"0x0000000000000009:1","weight":2.5}],"weight":2.5}],"t1_us":24}}}`: {NIC: &driver.NICState{
			WRCC: &wrcc.NICConfig{Domain: 2, T1Us: 24, MinRateMbps: 7, Increase: "ask", Senders: []wrcc.SenderWeight{
				{Name: "gold/default", Weight: weight, Peers: []wrcc.PeerWeight{{Port: ident.PortID{Node: 9, Port: 1}, Weight: weight}}},
			}},
		}},
		`{"queues":{"marking":[{"max_bytes":20,"min_bytes":10,"p_max_percent":5,"port":1,"queue":3}]}}`: {Queues: &driver.QueueState{
			Marking: []ecn.QueueMarking{{Port: 1, Queue: 3, Marking: ecn.Marking{Min: 10, Max: 20, PMaxPct: 5}}},
		}},
		`{"queues":{"marking":[],"weights":[{"port":1,"queue":3,"weight":16},{"port":1,"queue":4,"weight":1}]}}`: {Queues: &driver.QueueState{
			Weights: []qos.QueueWeight{{Port: 1, Queue: 3, Weight: 16}, {Port: 1, Queue: 4, Weight: 1}},
		}},
		`{"nic":{"params":[],"shares":[{"class":3,"percent":72},{"class":4,"percent":28}]}}`: {NIC: &driver.NICState{
			Shares: []qos.ClassShare{{Class: 3, Percent: 72}, {Class: 4, Percent: 28}},
		}},
		`{"wrcc":{"domains":[{"domain":2,"port":1,"wan":true}],"ports":[{"b_tar_mbps":3,"f_max_mbps":2,"f_min_mbps":1,"port":1,"q_ratio_pct":50,"rate_ratio_pct":110,"wrcct_us":24}]}}`: {WRCC: &driver.WRCCState{
			Ports:   []wrcc.PortConfig{{Port: 1, FminMbps: 1, FmaxMbps: 2, TargetMbps: 3, PeriodUs: 24, RateRatioPct: 110, QRatioPct: 50}},
			Domains: []wrcc.PortDomain{{Port: 1, Domain: 2, WAN: true}},
		}},
		`{}`: {},
	} {
		got, err := json.Marshal(settingsOut(&s))
		if err != nil || string(got) != want {
			t.Errorf("%s, %v\nwant %s", got, err, want)
		}
	}
}
