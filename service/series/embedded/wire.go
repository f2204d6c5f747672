package embedded

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"google.golang.org/protobuf/encoding/protowire"

	"fairlane/service/series"
)

// The messages of Prometheus's remote read and remote write 1.0 (prompb/remote.proto and types.proto), as far as they are used: samples
// without histograms. Field numbers are those of the protocol. Bodies are compressed by snappy.

// remoteQuery is a selection.
type remoteQuery struct {
	mint, maxt int64
	matchers   []*labels.Matcher
	only       string // hint: "series" asks for labels without samples
}

// remoteSeries is a series with its samples in the order of time.
type remoteSeries struct {
	labels  labels.Labels
	samples []remoteSample
}

type remoteSample struct {
	t int64
	v float64
}

// Bounds of messages.
const (
	maxRequestBytes = 4 << 20
	maxAnswerBytes  = 128 << 20 // without compression: maxSamples take half of it
	fieldScope      = 100       // of a read request between managers; others ignore it
)

var errTooLarge = errors.New("the answer is too large: shorten the range or select fewer series")

// matchTypes has the protocol's numbers of types of matchers.
var matchTypes = []labels.MatchType{labels.MatchEqual, labels.MatchNotEqual, labels.MatchRegexp, labels.MatchNotRegexp}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendText(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// encodeRead encodes a request; scope is nil for servers that know none.
func encodeRead(queries []remoteQuery, scope *series.Scope) ([]byte, error) {
	var b []byte
	for _, q := range queries {
		m := appendVarint(appendVarint(nil, 1, uint64(q.mint)), 2, uint64(q.maxt))
		for _, x := range q.matchers {
			kind := 0
			for i, t := range matchTypes {
				if t == x.Type {
					kind = i
				}
			}
			m = appendBytes(m, 3, appendText(appendText(appendVarint(nil, 1, uint64(kind)), 2, x.Name), 3, x.Value))
		}
		hints := appendVarint(appendVarint(nil, 3, uint64(q.mint)), 4, uint64(q.maxt))
		if q.only != "" {
			hints = appendText(hints, 2, q.only)
		}
		b = appendBytes(b, 1, appendBytes(m, 4, hints))
	}
	if scope != nil {
		text, err := json.Marshal(scope)
		if err != nil {
			return nil, err
		}
		b = appendBytes(b, fieldScope, text)
	}
	return snappy.Encode(nil, b), nil
}

// fields calls do for each field of a message; v has varints and fixed numbers, data has bytes.
func fields(b []byte, do func(field protowire.Number, v uint64, data []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := do(field, v, data); err != nil {
			return err
		}
	}
	return nil
}

// decompress bounds what a message may take.
func decompress(b []byte, most int) ([]byte, error) {
	n, err := snappy.DecodedLen(b)
	switch {
	case err != nil:
		return nil, err
	case n > most:
		return nil, errTooLarge
	}
	return snappy.Decode(nil, b)
}

// decodeRead decodes a request of another manager.
func decodeRead(b []byte) (queries []remoteQuery, scope series.Scope, err error) {
	if b, err = decompress(b, maxRequestBytes); err != nil {
		return nil, scope, err
	}
	err = fields(b, func(f protowire.Number, _ uint64, data []byte) error {
		switch f {
		case 1:
			q, err := decodeQuery(data)
			queries = append(queries, q)
			return err
		case fieldScope:
			return json.Unmarshal(data, &scope)
		}
		return nil
	})
	return queries, scope, err
}

func decodeQuery(b []byte) (q remoteQuery, err error) {
	err = fields(b, func(f protowire.Number, v uint64, data []byte) error {
		switch f {
		case 1:
			q.mint = int64(v)
		case 2:
			q.maxt = int64(v)
		case 3:
			m, err := decodeMatcher(data)
			q.matchers = append(q.matchers, m)
			return err
		case 4:
			return fields(data, func(f protowire.Number, _ uint64, data []byte) error {
				if f == 2 {
					q.only = string(data)
				}
				return nil
			})
		}
		return nil
	})
	return q, err
}

func decodeMatcher(b []byte) (*labels.Matcher, error) {
	var kind uint64
	var name, value string
	err := fields(b, func(f protowire.Number, v uint64, data []byte) error {
		switch f {
		case 1:
			kind = v
		case 2:
			name = string(data)
		case 3:
			value = string(data)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if kind >= uint64(len(matchTypes)) {
		return nil, fmt.Errorf("matcher of type %d: want 0 to 3", kind)
	}
	return labels.NewMatcher(matchTypes[kind], name, value)
}

// appendSeries appends a series as field 1, which it is in an answer and in a request to write.
func appendSeries(b []byte, s *remoteSeries) []byte {
	var m, one []byte
	s.labels.Range(func(l labels.Label) {
		one = appendText(appendText(one[:0], 1, l.Name), 2, l.Value)
		m = appendBytes(m, 1, one)
	})
	for _, x := range s.samples {
		one = protowire.AppendFixed64(protowire.AppendTag(one[:0], 1, protowire.Fixed64Type), math.Float64bits(x.v))
		m = appendBytes(m, 2, appendVarint(one, 2, uint64(x.t)))
	}
	return appendBytes(b, 1, m)
}

// encodeWrite encodes samples for remote write.
func encodeWrite(list []remoteSeries) []byte {
	var b []byte
	for i := range list {
		b = appendSeries(b, &list[i])
	}
	return snappy.Encode(nil, b)
}

// decodeAnswer decodes the series of an answer to a read request, a list for each query.
func decodeAnswer(b []byte) (lists [][]remoteSeries, err error) {
	if b, err = decompress(b, maxAnswerBytes); err != nil {
		return nil, err
	}
	return decodeLists(b, maxSamples)
}

// decodeLists bounds the number of series and samples together.
func decodeLists(b []byte, most int) (lists [][]remoteSeries, err error) {
	samples := 0
	err = fields(b, func(f protowire.Number, _ uint64, data []byte) error {
		if f != 1 {
			return nil
		}
		var list []remoteSeries
		err := fields(data, func(f protowire.Number, _ uint64, data []byte) error {
			if f != 1 {
				return nil
			}
			if samples++; samples > most { // a series without samples takes room too
				return errTooLarge
			}
			s, err := decodeSeries(data, most-samples)
			list = append(list, s)
			samples += len(s.samples)
			return err
		})
		lists = append(lists, list)
		return err
	})
	return lists, err
}

// decodeSample has a short cut for the form in which every server writes samples: there are millions.
func decodeSample(b []byte) (x remoteSample, err error) {
	if len(b) > 10 && b[0] == 1<<3|byte(protowire.Fixed64Type) && b[9] == 2<<3|byte(protowire.VarintType) {
		if t, n := protowire.ConsumeVarint(b[10:]); n == len(b)-10 {
			return remoteSample{int64(t), math.Float64frombits(binary.LittleEndian.Uint64(b[1:]))}, nil
		}
	}
	err = fields(b, func(f protowire.Number, v uint64, _ []byte) error {
		switch f {
		case 1:
			x.v = math.Float64frombits(v)
		case 2:
			x.t = int64(v)
		}
		return nil
	})
	return x, err
}

// decodeSeries decodes a series of at most a number of samples.
func decodeSeries(b []byte, most int) (s remoteSeries, err error) {
	names := labels.NewScratchBuilder(4)
	err = fields(b, func(f protowire.Number, _ uint64, data []byte) error {
		switch f {
		case 1:
			var name, value string
			err := fields(data, func(f protowire.Number, _ uint64, data []byte) error {
				switch f {
				case 1:
					name = string(data)
				case 2:
					value = string(data)
				}
				return nil
			})
			names.Add(name, value)
			return err
		case 2:
			if len(s.samples) >= most {
				return errTooLarge
			}
			x, err := decodeSample(data)
			s.samples = append(s.samples, x)
			return err
		}
		return nil
	})
	names.Sort()
	s.labels = names.Labels()
	return s, err
}
