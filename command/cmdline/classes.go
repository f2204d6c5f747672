package cmdline

import (
	"strings"

	"fairlane/ccconfig/qos"
)

// TrafficClasses are the traffic classes of a site as a flag: "DSCP:QUEUE", separated by commas.
type TrafficClasses []qos.TrafficClass

// String returns the classes in the format of Set.
func (l *TrafficClasses) String() string {
	words := make([]string, len(*l))
	for i, c := range *l {
		words[i] = c.String()
	}
	return strings.Join(words, ",")
}

// Set replaces the list.
func (l *TrafficClasses) Set(text string) error {
	classes, err := qos.ParseClasses(text)
	*l = classes
	return err
}

// Type returns the name of the value in help texts.
func (*TrafficClasses) Type() string { return "classes" }
