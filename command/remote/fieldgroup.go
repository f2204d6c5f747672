package remote

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"fairlane/api/gen"
)

// fieldGroup is a row of differences of one device: one field, or several that differ only in their index.
type fieldGroup struct {
	field, desired, observed string
}

// indexed splits "sl[3].timer" into "sl", "3" and ".timer".
var indexed = regexp.MustCompile(`^([a-z_]+)\[([0-9]{1,6})\](.*)$`)

// groupFields joins differences for a table, in the order of their first fields. Fields with different indices and
// equal values form one row, such as "sl[0-1,3-15].timer". So do the entries of a congestion-control table, whose
// values all differ: the row shows the first and the last.
func groupFields(list []gen.Difference) []fieldGroup {
	type key struct{ name, rest, desired, observed string }
	rows := map[key][]int{} // positions in list
	var order []key
	for i := range list {
		d := &list[i]
		k := key{"", d.Field, d.Desired, d.Observed}
		if m := indexed.FindStringSubmatch(d.Field); m != nil {
			k = key{m[1], m[3], d.Desired, d.Observed}
			if m[1] == "cct" {
				k.desired, k.observed = "", ""
			}
		}
		if rows[k] == nil {
			order = append(order, k)
		}
		rows[k] = append(rows[k], i)
	}
	out := make([]fieldGroup, 0, len(order))
	for _, k := range order {
		at := rows[k]
		first, last := &list[at[0]], &list[at[len(at)-1]]
		g := fieldGroup{first.Field, firstToLast(first.Desired, last.Desired), firstToLast(first.Observed, last.Observed)}
		if len(at) > 1 && k.name != "" {
			g.field = k.name + "[" + indexRanges(list, at) + "]" + k.rest
		}
		out = append(out, g)
	}
	return out
}

// firstToLast returns the first and the last value of a group.
func firstToLast(first, last string) string {
	if first == last {
		return first
	}
	return first + " … " + last
}

// indexRanges lists the indices of fields in ascending order, such as "0-1,3-15".
func indexRanges(list []gen.Difference, at []int) string {
	var parts []string
	begin, end := -1, -1
	flush := func() {
		switch {
		case begin == end && begin >= 0:
			parts = append(parts, strconv.Itoa(begin))
		case begin >= 0:
			parts = append(parts, fmt.Sprintf("%d-%d", begin, end))
		}
	}
	for _, i := range at {
		n, _ := strconv.Atoi(indexed.FindStringSubmatch(list[i].Field)[2]) // of six digits at most
		if n == end+1 && begin >= 0 {
			end = n
			continue
		}
		flush()
		begin, end = n, n
	}
	flush()
	return strings.Join(parts, ",")
}
