package workload

import (
	"fmt"
	"strings"
)

// MeanOfLongGoogleRPC is the mean, in bytes, of the published table of 843 knots from which the knots of GoogleRPC were
// selected. The mean of the reduced table must be within 1 % of it.
const MeanOfLongGoogleRPC = 2891.62

// WebSearch returns the size distribution of a web-search cluster: Alizadeh et al., "Data center TCP
// (DCTCP)", SIGCOMM 2010. Mean 1,711,250 bytes.
func WebSearch() *Sizes {
	return &Sizes{name: "websearch", source: "Alizadeh et al., Data center TCP (DCTCP), SIGCOMM 2010", mean: 1_711_250, knots: []Knot{
		{0, 0}, {10_000, 15}, {20_000, 20}, {30_000, 30}, {50_000, 40}, {80_000, 53}, {200_000, 60},
		{1_000_000, 70}, {2_000_000, 80}, {5_000_000, 90}, {10_000_000, 97}, {30_000_000, 100},
	}}
}

// FacebookHadoop returns the size distribution of Facebook's Hadoop clusters (Roy et al., "Inside the social network's
// (datacenter) network", SIGCOMM 2015), with the knots used in HPCC's evaluation (Li et al., SIGCOMM 2019). Mean 120,420.75
// bytes.
func FacebookHadoop() *Sizes {
	return &Sizes{name: "facebook-hadoop", source: "Roy et al., Inside the social network's (datacenter) network, SIGCOMM 2015; knots of HPCC, SIGCOMM 2019", mean: 120_420.75, knots: []Knot{
		{0, 0}, {100, 1}, {200, 2}, {300, 5}, {350, 15}, {400, 20}, {500, 30}, {600, 40}, {700, 50},
		{1000, 60}, {2000, 67}, {7000, 70}, {30_000, 72}, {50_000, 82}, {80_000, 87}, {120_000, 90},
		{300_000, 95}, {1_000_000, 97.5}, {2_000_000, 99}, {10_000_000, 100},
	}}
}

// DataMining returns the size distribution of a data-mining cluster: Greenberg et al., "VL2", SIGCOMM 2009, in the form of
// pFabric (Alizadeh et al., SIGCOMM 2013), which counts packets of 1460 bytes: half of the flows have exactly one packet, and
// the mean is 5116.6 packets (7.47 MB).
func DataMining() *Sizes {
	const packet = 1460
	return &Sizes{name: "data-mining", source: "Greenberg et al., VL2, SIGCOMM 2009; knots of pFabric, SIGCOMM 2013", mean: 7_470_236, knots: []Knot{
		{1 * packet, 50}, {2 * packet, 60}, {3 * packet, 70}, {7 * packet, 80}, {267 * packet, 90},
		{2107 * packet, 95}, {66_667 * packet, 99}, {666_667 * packet, 100},
	}}
}

// AlibabaStorage returns the size distribution of Alibaba's storage traffic of 2019, as published with
// the artifact of HPCC (Li et al., SIGCOMM 2019). Mean 40,869.8 bytes.
func AlibabaStorage() *Sizes {
	return &Sizes{name: "alibaba-storage", source: "Alibaba storage 2019, artifact of HPCC, SIGCOMM 2019", mean: 40_869.8, knots: []Knot{
		{0, 0}, {4000, 22.93}, {8000, 69.21}, {16_000, 80.61}, {32_000, 90.47}, {64_000, 93.53},
		{128_000, 96.77}, {256_000, 97.53}, {2_000_000, 100},
	}}
}

// GoogleRPC returns the size distribution of all applications in a Google data centre: Sivaram, "Some measured Google flow
// sizes", 2008, as used by Homa (Montazeri et al., SIGCOMM 2018). The published table has 843 knots. These 40 knots keep the
// mean (2,918.5 bytes against MeanOfLongGoogleRPC, +0.93 %) and the distribution is everywhere within 1.3 percentage points
// of the published one.
func GoogleRPC() *Sizes {
	return &Sizes{name: "google-rpc", source: "Sivaram, Some measured Google flow sizes, 2008; used by Homa, SIGCOMM 2018", mean: 2918.548670300002, knots: []Knot{
		{0, 0}, {3, 6.48826}, {64, 15.5271}, {85, 25.3422}, {146, 38.8155}, {268, 52.3994},
		{375, 68.055}, {512, 78.4921}, {796, 84.0834}, {1271, 88.0957}, {1843, 90.3788}, {2891, 92.4083},
		{5403, 94.9158}, {7054, 95.9574}, {9879, 97.127}, {12_674, 97.8728}, {16_384, 98.4694}, {22_265, 98.7709},
		{30_468, 98.9971}, {41_486, 99.1601}, {88_033, 99.5235}, {107_241, 99.6268}, {131_072, 99.7129}, {169_033, 99.7724},
		{216_315, 99.8173}, {320_864, 99.8836}, {409_266, 99.9205}, {524_288, 99.9498}, {679_140, 99.9617}, {892_196, 99.9713},
		{1_173_036, 99.9786}, {1_563_315, 99.9844}, {2_073_128, 99.9887}, {2_693_059, 99.9917}, {3_710_020, 99.9945}, {4_672_430, 99.996},
		{6_309_051, 99.9975}, {8_231_141, 99.9985}, {11_837_511, 99.9995}, {15_158_197, 100},
	}}
}

// BuiltinSizes returns the built-in distributions.
func BuiltinSizes() []*Sizes {
	return []*Sizes{WebSearch(), FacebookHadoop(), DataMining(), AlibabaStorage(), GoogleRPC()}
}

// SizesByName returns the built-in distribution with the given name.
func SizesByName(name string) (*Sizes, error) {
	var names []string
	for _, s := range BuiltinSizes() {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	return nil, fmt.Errorf("flow sizes %q: want one of %s", name, strings.Join(names, ", "))
}
