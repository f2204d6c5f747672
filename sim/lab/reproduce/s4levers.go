package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/subnet/topogen"
)

// lever is one change of the vendor's DCQCN on one of two groups of flows, with the ratio of their mean rates and the link
// utilization in the reference model. The reference model is a small model of the vendor's rules. It was made for this
// project and is not published. It serves as an independent check of the simulator.
type lever struct {
	label string
	a, b  cc.Values // parameters of the two groups, in addition to the common ones
	ratio [4]float64
	use   [4]float64 // link utilization in each column, percent
}

// leverColumns returns the four columns: the number of flows in each group, and whether the byte counter is on.
func leverColumns() []leverColumn {
	return []leverColumn{{"1v1-bytes", 1, true}, {"4v4-bytes", 4, true}, {"1v1-nobytes", 1, false}, {"4v4-nobytes", 4, false}}
}

type leverColumn struct {
	label string
	flows int // flows in each group
	bytes bool
}

func levers() []lever {
	ai := func(times float64) cc.Values {
		return cc.Values{"rpg_ai_rate": times * 5e6, "rpg_hai_rate": times * 50e6}
	}
	half := float64(150 * quantity.Microsecond)
	both := ai(4)
	both["rpg_time_reset"] = half
	return []lever{
		{"none", nil, nil, [4]float64{1.04, 1.06, 0.99, 0.87}, [4]float64{96, 99.7, 100, 100}},
		{"ai4", ai(4), nil, [4]float64{9.7, 1.08, 1.20, 1.67}, [4]float64{95, 99, 99.6, 99.8}},
		{"ai16", ai(16), nil, [4]float64{11.1, 3.24, 1.84, 2.43}, [4]float64{96, 97, 98.5, 98.5}},
		{"ai64", ai(64), nil, [4]float64{11.1, 5.67, 3.37, 4.52}, [4]float64{96, 93, 96, 95}},
		{"timer-half", cc.Values{"rpg_time_reset": half}, nil, [4]float64{12.4, 3.95, 3.12, 1.96}, [4]float64{98, 100, 100, 100}},
		{"ai4-timer-half", both, nil, [4]float64{13.0, 7.2, 5.2, 5.4}, [4]float64{98, 98.5, 99, 99.6}},
		{"gd10-on-b", nil, cc.Values{"rpg_gd": 10}, [4]float64{5.4, 0.90, 1.13, 1.35}, [4]float64{96, 99, 100, 100}},
		{"clamp-on-b", nil, cc.Values{"clamp_tgt_rate": 1}, [4]float64{17, 7.9, 14, 5.4}, [4]float64{98, 99, 100, 100}},
		{"g984-on-b", nil, cc.Values{"dce_tcp_g": 984}, [4]float64{4.1, 1.9, 1.25, 0.87}, [4]float64{97, 100, 100, 100}},
	}
}

const (
	leverCounted = 300 * quantity.Millisecond
	leverSettle  = 100 * quantity.Millisecond
	leverRate    = 100 * quantity.Gbps
)

// mlx builds the vendor's DCQCN with its defaults and changes.
func mlx(change cc.Values) (cc.Algorithm, error) {
	spec, err := cc.ByName("dcqcn-mlx")
	if err != nil {
		return nil, err
	}
	return spec.Build(change)
}

// leverRun holds the results of one run: payload rates of both groups in bit/s.
type leverRun struct {
	a, b   float64
	queue  float64 // mean queue length of the bottleneck, bytes
	pauses uint64
}

// runLever sends unlimited flows of both groups, each from its own host, to one host.
func runLever(ctx context.Context, l *lever, c leverColumn, seed uint64, counted quantity.Picoseconds) (r leverRun, err error) {
	topo, err := topogen.Star(2*c.flows+1, topogen.Wire{Rate: leverRate, Delay: quantity.Microsecond})
	if err != nil {
		return r, err
	}
	cfg := ether.Config{
		Seed: seed, CNPs: true, CNPGap: 4 * quantity.Microsecond,
		ECN: ether.ECN{Min: 400_000, Max: 1_600_000, RatePer: leverRate, PMax: 0.2},
	}
	for _, change := range []cc.Values{l.a, l.b} {
		v := cc.Values{}
		if !c.bytes {
			v["rpg_byte_reset"] = 0
		}
		for name, x := range change {
			v[name] = x
		}
		alg, err := mlx(v)
		if err != nil {
			return r, err
		}
		cfg.Algorithms = append(cfg.Algorithms, alg)
	}
	n, err := ether.New(topo, cfg)
	if err != nil {
		return r, err
	}
	for i := range 2 * c.flows {
		if err := n.Add(ether.FlowSpec{ID: int64(i), Src: int32(i), Dst: int32(2 * c.flows), Algorithm: uint16(i / c.flows)}); err != nil {
			return r, err
		}
	}
	port, _ := topo.Peer(n.HostPort(int32(2 * c.flows)))
	return r, r.measure(ctx, n, func() float64 { return float64(n.Queue(port)) }, c.flows, counted)
}

// measure runs the network through the settling time, and then measures for the counted time.
func (r *leverRun) measure(ctx context.Context, n *ether.Network, queue func() float64, flows int, counted quantity.Picoseconds) error {
	acked := func() (sum [2]float64) {
		n.Flows(func(f ether.FlowState) bool { sum[int(f.ID)/flows] += float64(f.Acked); return true })
		return sum
	}
	n.RunUntil(leverSettle)
	before, samples := acked(), 0.0
	for n.Now() < leverSettle+counted {
		if err := ctx.Err(); err != nil {
			return err
		}
		n.RunUntil(n.Now() + 100*quantity.Microsecond)
		r.queue += queue()
		samples++
	}
	after := acked()
	r.a = (after[0] - before[0]) * 8 / counted.Seconds()
	r.b = (after[1] - before[1]) * 8 / counted.Seconds()
	r.queue /= samples
	r.pauses = n.Stats().Pauses
	return n.Err()
}

// use returns the link utilization by both groups, including headers.
func (r *leverRun) use() float64 { return (r.a + r.b) * 1048 / 1000 / float64(leverRate) }

// ratio returns the rate of A divided by that of B.
func (r *leverRun) ratio() float64 { return r.a / r.b }

// seedsOfLevers returns the number of seeds for the geometric mean of a ratio: in one run of 0.3 s, four equal flows do not
// reach equal mean rates.
func seedsOfLevers(full bool) int {
	if full {
		return 6
	}
	return 2
}

// leverCell is one lever in one column: a run for each seed.
type leverCell []leverRun

// ratio returns the geometric mean over seeds, with its minimum and maximum.
func (c leverCell) ratio() (mean, least, most float64) {
	sum := 0.0
	least, most = math.Inf(1), 0
	for i := range c {
		x := c[i].ratio()
		sum += math.Log(x)
		least, most = min(least, x), max(most, x)
	}
	return math.Exp(sum / float64(len(c))), least, most
}

// use returns the mean over seeds, in percent.
func (c leverCell) use() float64 {
	sum := 0.0
	for i := range c {
		sum += 100 * c[i].use()
	}
	return sum / float64(len(c))
}

// planLevers runs every lever in every column, with several seeds.
func planLevers(o Options) ([]job, func() Result) {
	all, columns := levers(), leverColumns()
	cells := make([]leverCell, len(all)*len(columns))
	var jobs []job
	for i := range cells {
		cells[i] = make(leverCell, seedsOfLevers(o.Full))
		for s := range cells[i] {
			jobs = append(jobs, func(ctx context.Context) (err error) {
				cells[i][s], err = runLever(ctx, &all[i/len(columns)], columns[i%len(columns)], o.Seed+uint64(s), leverCounted)
				return err
			})
		}
	}
	return jobs, func() Result { return leverResult(all, columns, cells) }
}

const leverNote = "the other figure is that of a small model of the same rules, no publication"

func leverResult(all []lever, columns []leverColumn, cells []leverCell) Result {
	var ratios, uses []Row
	var figures []Figure
	for k, c := range columns {
		f := Figure{Name: "s4-levers." + c.label, Title: leverTitle(c), Y: Axis{Label: "rate of A / rate of B", Log: true},
			Series: []Series{{Name: "small model", Published: true}, {Name: "packet simulator"}}}
		for i, l := range all {
			cell := cells[i*len(columns)+k]
			mean, least, most := cell.ratio()
			f.Categories = append(f.Categories, l.label)
			f.Series[0].Points = append(f.Series[0].Points, Point{float64(i), l.ratio[k]})
			f.Series[1].Points = append(f.Series[1].Points, Point{float64(i), mean})
			at := l.label + "." + c.label
			ratios = append(ratios, published("ratio-"+at, l.ratio[k], mean, "",
				fmt.Sprintf("rate of group A by that of B, mean of %d seeds from %.3g to %.3g; mean queue %.0f KB; %s", len(cell), least, most, cell[0].queue/1e3, leverNote)))
			uses = append(uses, published("use-"+at, l.use[k], cell.use(), "%", "of the link; "+leverNote))
		}
		figures = append(figures, f)
	}
	return Result{Rows: slices.Concat(ratios, uses), Figures: figures}
}

func leverTitle(c leverColumn) string {
	counter := "on"
	if !c.bytes {
		counter = "off"
	}
	return fmt.Sprintf("What a change does to the shares: %d + %d flows, byte counter %s", c.flows, c.flows, counter)
}
