package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"fairlane/api/gen"
	"fairlane/api/server"
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
	if err := cmp.Or(err, err2, err3); err != nil {
		return refused(err)
	}
	a, err := s.control.QueryRange(ctx, query, from, to, by)
	return evaluated(a, err)
}

func (s *Server) FindLabels(ctx context.Context, r server.FindLabelsRequestObject) (server.FindLabelsResponseObject, error) {
	return found(ctx, lookup{r.Params.Match, r.Params.Start, r.Params.End, r.Params.Limit}, s.control.FindLabels)
}

func (s *Server) FindLabelsByForm(ctx context.Context, r server.FindLabelsByFormRequestObject) (server.FindLabelsByFormResponseObject, error) {
	return found(ctx, lookup{r.Body.Match, r.Body.Start, r.Body.End, r.Body.Limit}, s.control.FindLabels)
}

func (s *Server) FindLabelValues(ctx context.Context, r server.FindLabelValuesRequestObject) (server.FindLabelValuesResponseObject, error) {
	values := func(ctx context.Context, l series.Lookup) ([]string, error) {
		return s.control.FindLabelValues(ctx, r.Label, l)
	}
	return found(ctx, lookup{r.Params.Match, r.Params.Start, r.Params.End, r.Params.Limit}, values)
}

func (s *Server) FindSeries(ctx context.Context, r server.FindSeriesRequestObject) (server.FindSeriesResponseObject, error) {
	return found(ctx, lookup{r.Params.Match, r.Params.Start, r.Params.End, r.Params.Limit}, s.control.FindSeries)
}

func (s *Server) FindSeriesByForm(ctx context.Context, r server.FindSeriesByFormRequestObject) (server.FindSeriesByFormResponseObject, error) {
	return found(ctx, lookup{r.Body.Match, r.Body.Start, r.Body.End, r.Body.Limit}, s.control.FindSeries)
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
	return succeeded(out, nil, nil)
}

// prometheusVersion is the version of the Prometheus server whose query engine answers: module v0.316.0 is that of server 3.16.0. A test
// compares it with go.mod.
const prometheusVersion = "3.16.0"

// GetSeriesBuild says which Prometheus answers, so that clients know what it can do.
func (s *Server) GetSeriesBuild(context.Context, server.GetSeriesBuildRequestObject) (server.GetSeriesBuildResponseObject, error) {
	return succeeded(map[string]string{
		"version": prometheusVersion, "revision": s.o.Version, "branch": "", "buildUser": "", "buildDate": "", "goVersion": runtime.Version(),
	}, nil, nil)
}

// evaluated answers with the result of a query.
func evaluated(a series.Answer, err error) (prometheusAnswer, error) {
	if err != nil {
		return refused(err)
	}
	return succeeded(json.RawMessage(a.Data), a.Warnings, a.Infos)
}

// lookup holds the parameters of a lookup as sent.
type lookup struct {
	match      []string
	start, end *string
	limit      *int
}

// found answers with the result of a lookup.
func found[T any](ctx context.Context, l lookup, find func(context.Context, series.Lookup) ([]T, error)) (prometheusAnswer, error) {
	start, err := queryTime("start", deref(l.start))
	end, err2 := queryTime("end", deref(l.end))
	if err = cmp.Or(err, err2); err != nil {
		return refused(err)
	}
	var warnings []string
	warn := func(w string) {
		if !slices.Contains(warnings, w) {
			warnings = append(warnings, w)
		}
	}
	list, err := find(ctx, series.Lookup{Selectors: l.match, Start: start, End: end, Limit: deref(l.limit), Warn: warn})
	if err != nil {
		return refused(err)
	}
	return succeeded(append([]T{}, list...), warnings, nil)
}

// succeeded answers with data; a json.RawMessage is written unchanged, because results may be large.
func succeeded(data any, warnings, infos []string) (a prometheusAnswer, err error) {
	raw, ok := data.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(data); err != nil {
			return a, err
		}
	}
	notes, err := json.Marshal(gen.PrometheusAnswer{Status: gen.PrometheusAnswerStatusSuccess, Warnings: warnings, Infos: infos})
	if err != nil {
		return a, err
	}
	body := slices.Concat(notes[:len(notes)-1], []byte(`,"data":`), raw, []byte("}\n"))
	return prometheusAnswer{http.StatusOK, body}, nil
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
	case errors.Is(err, series.ErrAway):
		kind, status = gen.PrometheusAnswerErrorTypeUnavailable, http.StatusServiceUnavailable
	case errors.Is(err, series.ErrOff):
		kind, status = gen.PrometheusAnswerErrorTypeUnavailable, http.StatusNotFound // as for other parts that are off
	default:
		return prometheusAnswer{}, err
	}
	body, err := json.Marshal(gen.PrometheusAnswer{Status: gen.PrometheusAnswerStatusError, ErrorType: &kind, Error: new(err.Error())})
	return prometheusAnswer{status, append(body, '\n')}, err
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
