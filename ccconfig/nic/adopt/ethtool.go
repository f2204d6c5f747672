package adopt

import (
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/niccount"
	"fairlane/internal/phrase"
)

const maxCounters = 65536

// Ethtool parses the output of "ethtool -S" as counters. A statistic whose value is not a number becomes a counter with an
// error, never zero; a text without any statistics is an error.
func Ethtool(file, text string) (*State, error) {
	if err := tooLong(file, len(text)); err != nil {
		return nil, err
	}
	s := &State{Counters: niccount.Counters{}}
	line, begun := 0, false
	for raw := range strings.Lines(text) {
		line++
		row := strings.TrimSpace(raw)
		if row == "" {
			continue
		}
		if !begun {
			if !strings.HasPrefix(row, "NIC statistics") {
				return nil, &ParseError{File: file, Line: line, Found: quoted(row), Allowed: phrase.Verbatim("\"NIC statistics:\"")}
			}
			begun = true
			continue
		}
		at := strings.LastIndexByte(row, ':')
		if at <= 0 {
			return nil, &ParseError{File: file, Line: line, Found: quoted(row), Allowed: phrase.Of("adopt.want-statistic")}
		}
		name, word := strings.TrimSpace(row[:at]), strings.TrimSpace(row[at+1:])
		if _, twice := s.Counters[name]; twice {
			return nil, &ParseError{File: file, Line: line, Found: phrase.Of("adopt.again", "name", quote(name)), Allowed: phrase.Of("adopt.want-statistic-once")}
		}
		if len(s.Counters) == maxCounters {
			return nil, &ParseError{File: file, Line: line, Found: phrase.Of("adopt.more-statistics"), Allowed: phrase.Of("want.most", "max", maxCounters)}
		}
		c := niccount.Counter{Name: name}
		if v, err := strconv.ParseUint(word, 10, 64); err != nil {
			c.Err = &ParseError{File: file, Line: line, Field: name, Found: quoted(word), Allowed: phrase.Verbatim("0..18446744073709551615")}
		} else {
			c.Value = v
		}
		s.Counters[name] = c
	}
	if !begun {
		return nil, &ParseError{File: file, Line: 1, Found: phrase.Of("adopt.no-statistics"), Allowed: phrase.Of("adopt.want-ethtool")}
	}
	return s, nil
}
