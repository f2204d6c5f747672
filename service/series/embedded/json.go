package embedded

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// appendResult appends {"resultType":…,"result":…} as Prometheus's HTTP API has it: values are strings, times seconds.
func appendResult(b []byte, v parser.Value) ([]byte, error) {
	b = append(b, `{"resultType":"`...)
	b = append(b, v.Type()...)
	b = append(b, `","result":`...)
	switch v := v.(type) {
	case promql.Vector:
		b = appendList(b, v, func(b []byte, s promql.Sample) []byte {
			b = append(appendMetric(b, s.Metric), `,"value":`...)
			return append(appendPoint(b, s.T, s.F), '}')
		})
	case promql.Matrix:
		b = appendList(b, v, func(b []byte, s promql.Series) []byte {
			b = append(appendMetric(b, s.Metric), `,"values":`...)
			return append(appendList(b, s.Floats, func(b []byte, p promql.FPoint) []byte { return appendPoint(b, p.T, p.F) }), '}')
		})
	case promql.Scalar:
		b = appendPoint(b, v.T, v.V)
	case promql.String:
		b = append(append(b, '['), seconds(v.T)...)
		b = append(appendString(append(b, ','), v.V), ']')
	default:
		return nil, fmt.Errorf("result of type %q: want a vector, matrix, scalar or string", v.Type())
	}
	return append(b, '}'), nil
}

func appendList[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, list[i])
	}
	return append(b, ']')
}

// appendMetric appends the beginning of a result's object, up to its labels.
func appendMetric(b []byte, ls labels.Labels) []byte {
	b = append(b, `{"metric":{`...)
	first := true
	ls.Range(func(l labels.Label) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendString(append(appendString(b, l.Name), ':'), l.Value)
	})
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s) // cannot fail on a string
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, text...)
}

func appendPoint(b []byte, t int64, v float64) []byte {
	b = append(append(b, '['), seconds(t)...)
	b = append(b, `,"`...)
	switch {
	case math.IsInf(v, 1):
		b = append(b, "+Inf"...)
	case math.IsInf(v, -1):
		b = append(b, "-Inf"...)
	default:
		b = strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	return append(b, `"]`...)
}

// seconds formats milliseconds as seconds with at most three decimals.
func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }
