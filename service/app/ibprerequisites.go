package app

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
	"fairlane/subnet/mad"
)

// examineTime bounds how long a discovery reads the prerequisites of InfiniBand devices: a fabric without congestion control may
// answer none of the requests.
const examineTime = 15 * time.Second

// examineDevices returns a warning for each kind of prerequisite that is not met on devices of a live InfiniBand fabric. No plan is
// known: congestion control and the CC_Key are judged, and lanes are not.
func examineDevices(ctx context.Context, t mad.Transport, key mad.Key, f *subnet.Fabric) ([]phrase.Text, error) {
	d, err := ibmad.New(t, ibmad.Options{CCKey: key, InFlight: sweepParallel})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	devices := ccDevices(f)
	items := make([][]prereq.Item, len(devices))
	var g errgroup.Group
	g.SetLimit(sweepParallel)
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
			if item.ID == prereq.Readable { // each with its own reason
				text = phrase.Of("prerequisites of congestion control could not be read")
			}
			k := text.String()
			said[k], names[k] = text, append(names[k], devices[i].Name)
		}
	}
	var out []phrase.Text
	for k, list := range names {
		out = append(out, phrase.Of("{}: {}", firstNames(list), said[k]))
	}
	slices.SortFunc(out, func(a, b phrase.Text) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}
