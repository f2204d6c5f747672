package site

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibmad"
	"fairlane/ccconfig/prereq"
	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// examineTime limits how long a discovery reads the prerequisites of InfiniBand devices: a fabric without congestion
// control may not answer any of the requests.
const examineTime = 15 * time.Second

// examineDevices returns a warning for each kind of prerequisite that devices of a live InfiniBand fabric do not meet.
// It has no plan, so it checks congestion control and the CC_Key but not lanes.
func examineDevices(ctx context.Context, t mad.Transport, key mad.Key, f *subnet.Fabric) ([]phrase.Text, error) {
	d, err := ibmad.New(t, ibmad.Options{CCKey: key, InFlight: SweepParallel})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	devices := CCDevices(f)
	items := make([][]prereq.Item, len(devices))
	var g errgroup.Group
	g.SetLimit(SweepParallel)
	for i := range devices {
		g.Go(func() error {
			items[i] = prereq.Unmet(driver.Examine(ctx, d, devices[i], driver.Settings{}, &prereq.Needs{InfiniBand: &prereq.InfiniBand{}}))
			return nil
		})
	}
	_ = g.Wait() // the goroutines return no errors
	said := map[string]phrase.Text{}
	names := map[string][]string{}
	for i := range devices {
		for _, item := range items[i] {
			text := item.Sentence()
			if item.ID == prereq.Readable { // each device has its own reason
				text = phrase.Of("prereq.unread")
			}
			k := text.String()
			said[k], names[k] = text, append(names[k], devices[i].Name)
		}
	}
	var out []phrase.Text
	for k, list := range names {
		out = append(out, phrase.Of("labelled", "label", firstNames(list), "text", said[k]))
	}
	slices.SortFunc(out, func(a, b phrase.Text) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

// CCDevices returns the devices of a fabric with a congestion-control agent: switches, and the linked ports of channel
// adapters.
func CCDevices(f *subnet.Fabric) []driver.Device {
	var out []driver.Device
	for i := range f.Nodes {
		n := &f.Nodes[i]
		switch n.Kind {
		case subnet.KindSwitch:
			if n.Ports[0].LID != 0 {
				out = append(out, driver.SwitchDevice(f, int32(i), subnet.PlaneIB))
			}
		case subnet.KindCA:
			for p := 1; p < len(n.Ports); p++ {
				if n.Ports[p].LID != 0 && n.Ports[p].Link >= 0 {
					out = append(out, driver.PortDevice(f, subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}, subnet.PlaneIB))
				}
			}
		}
	}
	return out
}
