package driver

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/internal/fieldwise"
	"fairlane/subnet/ident"
)

// Parameters of a NIC port that divide it by traffic class, by class.
const (
	SelectionParam = "tsa"   // transmission selection algorithm; nicparam.TSAETS for classes with a share
	PercentParam   = "tc_bw" // percent of the port
)

// validateShares checks that shares are by class, each once, and sum to 100. A share of 0 is that of a class of the site from which
// nothing is sent at the port.
func (s *NICState) validateShares() error {
	sum := 0
	for i, c := range s.Shares {
		at := fmt.Sprintf("nic.shares[%d].", i)
		switch {
		case c.Class > qos.MaxQueue:
			return fieldwise.Bad(at+"class", c.Class, fmt.Sprintf("0 to %d", qos.MaxQueue))
		case i > 0 && s.Shares[i-1].Class >= c.Class:
			return fieldwise.Bad(at+"class", c.Class, "shares by class, each once")
		case c.Percent > wholePort:
			return fieldwise.Bad(at+"percent", c.Percent, fmt.Sprintf("0 to %d", wholePort))
		}
		sum += int(c.Percent)
		if _, twice := s.Param(PercentParam, int(c.Class)); twice {
			return fieldwise.Bad(at+"class", c.Class, fmt.Sprintf("no parameter %s of the class beside its share", PercentParam))
		}
		if _, twice := s.Param(SelectionParam, int(c.Class)); twice {
			return fieldwise.Bad(at+"class", c.Class, fmt.Sprintf("no parameter %s of the class beside its share", SelectionParam))
		}
	}
	if len(s.Shares) > 0 && sum != wholePort {
		return fieldwise.Bad("nic.shares", fmt.Sprintf("%d percent", sum), fmt.Sprintf("%d over all classes", wholePort))
	}
	return nil
}

// wholePort is the sum of the shares of a port, in percent.
const wholePort = 100

// ShareParams returns the parameters of the desired shares, by name, then class: enhanced transmission selection with the percentage. A
// driver writes them with Params.
func (s *NICState) ShareParams() []NICParam {
	var out []NICParam
	for _, c := range s.Shares {
		out = append(out, NICParam{Name: PercentParam, Index: int(c.Class), Value: uint64(c.Percent)})
	}
	for _, c := range s.Shares {
		out = append(out, NICParam{Name: SelectionParam, Index: int(c.Class), Value: nicparam.TSAETS})
	}
	return out
}

// Foreign returns the classes outside the desired shares that have bandwidth in the observed state, with their percentages. The sum of 100
// percent cannot be met until they have none.
func (s *NICState) Foreign(got *NICState) []qos.ClassShare {
	var out []qos.ClassShare
	for class := range uint8(qos.MaxQueue + 1) {
		if len(s.Shares) == 0 || slices.ContainsFunc(s.Shares, func(c qos.ClassShare) bool { return c.Class == class }) {
			continue
		}
		percent, _ := got.Param(PercentParam, int(class))
		if v, set := s.Param(PercentParam, int(class)); set {
			percent = v
		}
		if percent > 0 {
			out = append(out, qos.ClassShare{Class: class, Percent: uint8(min(percent, wholePort))})
		}
	}
	return out
}

// validateWeights checks that weights are in range, of ports that exist, by port and queue, each once.
func (s *QueueState) validateWeights(ports int) error {
	for i, w := range s.Weights {
		at := fmt.Sprintf("queues.weights[%d].", i)
		if w.Port < 1 || int(w.Port) > ports {
			return fieldwise.Bad(at+"port", w.Port, fmt.Sprintf("1 to %d", ports))
		}
		if i > 0 && compareWeights(s.Weights[i-1], w) >= 0 {
			return fieldwise.Bad(at+"queue", fmt.Sprintf("port %d queue %d", w.Port, w.Queue), "queues by port and number, each once")
		}
		if err := w.Validate(); err != nil {
			return fieldwise.Under(at, err)
		}
	}
	return nil
}

// Weight returns the weight of a queue; false if the state has none.
func (s *QueueState) Weight(port ident.PortNum, queue uint8) (uint8, bool) {
	i, ok := slices.BinarySearchFunc(s.Weights, qos.QueueWeight{Port: port, Queue: queue}, compareWeights)
	if !ok {
		return 0, false
	}
	return s.Weights[i].Weight, true
}

func compareWeights(a, b qos.QueueWeight) int {
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Queue, b.Queue))
}
