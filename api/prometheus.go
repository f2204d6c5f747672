package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/internal/phrase"
	"fairlane/service/series"
)

// prometheusRoot is the path below which Prometheus's HTTP API is answered: the address to give Grafana.
const prometheusRoot = "/api/v1/prometheus/"

// prometheusAnswer is an answer in the form of Prometheus's HTTP API.
type prometheusAnswer struct {
	status int
	body   []byte // JSON
}

// The generated server has an interface for the responses of each operation; all have the same form.
func (a prometheusAnswer) VisitQueryInstantResponse(w http.ResponseWriter) error { return a.write(w) }
func (a prometheusAnswer) VisitQueryInstantByFormResponse(w http.ResponseWriter) error {
	return a.write(w)
}
func (a prometheusAnswer) VisitQueryRangeResponse(w http.ResponseWriter) error { return a.write(w) }
func (a prometheusAnswer) VisitQueryRangeByFormResponse(w http.ResponseWriter) error {
	return a.write(w)
}
func (a prometheusAnswer) VisitFindLabelsResponse(w http.ResponseWriter) error { return a.write(w) }
func (a prometheusAnswer) VisitFindLabelsByFormResponse(w http.ResponseWriter) error {
	return a.write(w)
}
func (a prometheusAnswer) VisitFindSeriesResponse(w http.ResponseWriter) error { return a.write(w) }
func (a prometheusAnswer) VisitFindSeriesByFormResponse(w http.ResponseWriter) error {
	return a.write(w)
}
func (a prometheusAnswer) VisitFindLabelValuesResponse(w http.ResponseWriter) error {
	return a.write(w)
}
func (a prometheusAnswer) VisitGetSeriesMetadataResponse(w http.ResponseWriter) error {
	return a.write(w)
}
func (a prometheusAnswer) VisitGetSeriesBuildResponse(w http.ResponseWriter) error { return a.write(w) }

func (a prometheusAnswer) write(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, err := w.Write(a.body)
	return err
}

func (s *Server) QueryInstant(ctx context.Context, r server.QueryInstantRequestObject) (server.QueryInstantResponseObject, error) {
	return s.instant(ctx, r.Params.Query, r.Params.Time)
}

func (s *Server) QueryInstantByForm(ctx context.Context, r server.QueryInstantByFormRequestObject) (server.QueryInstantByFormResponseObject, error) {
	return s.instant(ctx, r.Body.Query, r.Body.Time)
}

func (s *Server) instant(ctx context.Context, query string, at *string) (prometheusAnswer, error) {
	t, err := queryTime("time", deref(at))
	if err != nil {
		return refused(err)
	}
	a, err := s.control.QueryInstant(ctx, query, t)
	return evaluated(a, err)
}

func (s *Server) QueryRange(ctx context.Context, r server.QueryRangeRequestObject) (server.QueryRangeResponseObject, error) {
	return s.ranged(ctx, r.Params.Query, r.Params.Start, r.Params.End, r.Params.Step)
}

func (s *Server) QueryRangeByForm(ctx context.Context, r server.QueryRangeByFormRequestObject) (server.QueryRangeByFormResponseObject, error) {
	return s.ranged(ctx, r.Body.Query, r.Body.Start, r.Body.End, r.Body.Step)
}

func (s *Server) ranged(ctx context.Context, query, start, end, step string) (prometheusAnswer, error) {
	from, err := boundTime("start", start)
	to, err2 := boundTime("end", end)
	by, err3 := queryStep(step)
	if err := errors.Join(err, err2, err3); err != nil {
		return refused(err)
	}
	a, err := s.control.QueryRange(ctx, query, from, to, by)
	return evaluated(a, err)
}

func (s *Server) FindLabels(ctx context.Context, r server.FindLabelsRequestObject) (server.FindLabelsResponseObject, error) {
	return found(lookupOf(r.Params.Match, r.Params.Start, r.Params.End, r.Params.Limit), func(l series.Lookup) ([]string, error) { return s.control.FindLabels(ctx, l) })
}

func (s *Server) FindLabelsByForm(ctx context.Context, r server.FindLabelsByFormRequestObject) (server.FindLabelsByFormResponseObject, error) {
	return found(lookupOf(r.Body.Match, r.Body.Start, r.Body.End, r.Body.Limit), func(l series.Lookup) ([]string, error) { return s.control.FindLabels(ctx, l) })
}

func (s *Server) FindLabelValues(ctx context.Context, r server.FindLabelValuesRequestObject) (server.FindLabelValuesResponseObject, error) {
	return found(lookupOf(r.Params.Match, r.Params.Start, r.Params.End, r.Params.Limit), func(l series.Lookup) ([]string, error) {
		return s.control.FindLabelValues(ctx, r.Label, l)
	})
}

func (s *Server) FindSeries(ctx context.Context, r server.FindSeriesRequestObject) (server.FindSeriesResponseObject, error) {
	return found(lookupOf(r.Params.Match, r.Params.Start, r.Params.End, r.Params.Limit), func(l series.Lookup) ([]map[string]string, error) { return s.control.FindSeries(ctx, l) })
}

func (s *Server) FindSeriesByForm(ctx context.Context, r server.FindSeriesByFormRequestObject) (server.FindSeriesByFormResponseObject, error) {
	return found(lookupOf(r.Body.Match, r.Body.Start, r.Body.End, r.Body.Limit), func(l series.Lookup) ([]map[string]string, error) { return s.control.FindSeries(ctx, l) })
}

// GetSeriesMetadata describes the families: their names are no secret.
func (s *Server) GetSeriesMetadata(_ context.Context, r server.GetSeriesMetadataRequestObject) (server.GetSeriesMetadataResponseObject, error) {
	type about struct {
		Type string `json:"type"`
		Help string `json:"help"`
		Unit string `json:"unit"` // always empty: the name ends in it
	}
	out := map[string][]about{}
	for _, f := range series.Families() {
		if most := deref(r.Params.Limit); most > 0 && len(out) == most {
			break
		}
		if only := deref(r.Params.Metric); only == "" || only == f.Name {
			out[f.Name] = []about{{Type: string(f.Kind), Help: f.Help}}
		}
	}
	return succeeded(out, nil)
}

// prometheusVersion is the Prometheus whose query language is answered: that of the module in go.mod, as a server's version.
const prometheusVersion = "3.16.0"

// GetSeriesBuild says which Prometheus answers, so that clients know what it can do.
func (s *Server) GetSeriesBuild(context.Context, server.GetSeriesBuildRequestObject) (server.GetSeriesBuildResponseObject, error) {
	return succeeded(map[string]string{
		"version": prometheusVersion, "revision": s.o.Version, "branch": "", "buildUser": "", "buildDate": "", "goVersion": runtime.Version(),
	}, nil)
}

// evaluated answers with the result of a query.
func evaluated(a series.Answer, err error) (prometheusAnswer, error) {
	if err != nil {
		return refused(err)
	}
	return succeeded(json.RawMessage(a.Data), &gen.PrometheusAnswer{Warnings: a.Warnings, Infos: a.Infos})
}

// found answers with the result of a lookup.
func found[T any](l lookup, find func(series.Lookup) ([]T, error)) (prometheusAnswer, error) {
	if l.err != nil {
		return refused(l.err)
	}
	list, err := find(l.Lookup)
	if err != nil {
		return refused(err)
	}
	if list == nil {
		list = []T{}
	}
	return succeeded(list, nil)
}

// succeeded answers with data. Its bytes are written as they are: a large result is not encoded twice.
func succeeded(data any, notes *gen.PrometheusAnswer) (a prometheusAnswer, err error) {
	raw, ok := data.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(data); err != nil {
			return a, err
		}
	}
	a = prometheusAnswer{http.StatusOK, append([]byte(`{"status":"success","data":`), raw...)}
	for _, n := range []struct {
		name string
		list []string
	}{{"warnings", deref(notes).Warnings}, {"infos", deref(notes).Infos}} {
		if len(n.list) > 0 {
			text, err := json.Marshal(n.list)
			if err != nil {
				return a, err
			}
			a.body = append(append(a.body, `,"`+n.name+`":`...), text...)
		}
	}
	a.body = append(a.body, "}\n"...)
	return a, nil
}

// refused answers with an error of a query, in the form and with the status that Prometheus gives it. Other errors stay problem documents.
func refused(err error) (prometheusAnswer, error) {
	var kind gen.PrometheusAnswerErrorType
	var status int
	switch {
	case errors.Is(err, series.ErrBadQuery):
		kind, status = gen.PrometheusAnswerErrorTypeBadData, http.StatusBadRequest
	case errors.Is(err, series.ErrCost):
		kind, status = gen.PrometheusAnswerErrorTypeExecution, http.StatusUnprocessableEntity
	case errors.Is(err, context.DeadlineExceeded):
		kind, status = gen.PrometheusAnswerErrorTypeTimeout, http.StatusServiceUnavailable
	case errors.Is(err, series.ErrOff):
		kind, status = gen.PrometheusAnswerErrorTypeUnavailable, http.StatusNotFound // as for other parts that are off
	default:
		return prometheusAnswer{}, err
	}
	body, err := json.Marshal(gen.PrometheusAnswer{Status: gen.PrometheusAnswerStatusError, ErrorType: &kind, Error: new(phrase.OfError(err).String())})
	return prometheusAnswer{status, append(body, '\n')}, err
}

// lookup is a lookup of series, or what is wrong with it.
type lookup struct {
	series.Lookup

	err error
}

func lookupOf(match []string, start, end *string, limit *int) (l lookup) {
	var err, err2 error
	l.Selectors, l.Limit = match, deref(limit)
	l.Start, err = queryTime("start", deref(start))
	l.End, err2 = queryTime("end", deref(end))
	l.err = errors.Join(err, err2)
	return l
}

// maxSeconds bounds times: the year 9999.
const maxSeconds = 253402300799

// queryTime parses a time as Prometheus has it: seconds since 1970, or RFC 3339. The empty text is the zero time.
func queryTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(s) <= maxSeconds {
		return time.UnixMilli(int64(math.Round(s * 1000))), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Unix() > maxSeconds {
		return time.Time{}, badTime(name, text)
	}
	return t, nil
}

// boundTime parses a time that must be given.
func boundTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, badTime(name, text)
	}
	return queryTime(name, text)
}

func badTime(name, text string) error {
	return fmt.Errorf("%w: %s: found %q, want seconds since 1970 or RFC 3339", series.ErrBadQuery, name, clip(text))
}

// queryStep parses a step as Prometheus has it: seconds, or a duration such as "5m".
func queryStep(text string) (time.Duration, error) {
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s <= maxSeconds/1000 {
		return time.Duration(s * float64(time.Second)), nil
	}
	if d, err := model.ParseDuration(text); err == nil && d > 0 {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("%w: step: found %q, want seconds above 0 or a duration such as 15s or 5m", series.ErrBadQuery, clip(text))
}
