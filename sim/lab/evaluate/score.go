package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fairlane/internal/stats"
	"fairlane/policy"
)

// Score summarizes results of one plane. Errors compare the simulated with the predicted rates of tenants on contended links.
// Without tenants they are 0, never NaN.
type Score struct {
	Cases         int     `json:"cases"`   // completed cases
	Tenants       int     `json:"tenants"` // tenants on contended links
	ShareErrorP50 float64 `json:"share_error_p50"`
	ShareErrorP95 float64 `json:"share_error_p95"`
	ShareErrorMax float64 `json:"share_error_max"`
	EntitledP50   float64 `json:"entitled_error_p50"` // simulated relative to entitled rate
	EntitledP95   float64 `json:"entitled_error_p95"`
	EntitledMax   float64 `json:"entitled_error_max"`
	BoundCoverage float64 `json:"bound_coverage"` // fraction of the tenants with an error within the plan's bound
	BoundP50      float64 `json:"bound_p50"`
	// Unannounced counts the tenants whose rates differ from their entitlement or their prediction by more than
	// policy.MissLimit without a finding that announces it. See TenantResult.announced.
	Unannounced    int     `json:"unannounced"`
	Utilisation    float64 `json:"utilisation_ratio"`     // utilization of contended links relative to the unmanaged fabric, mean over cases
	UtilisationMin float64 `json:"utilisation_ratio_min"` // utilization ratio of the worst case
}

// PlaneScore is the score of all cases of one plane.
type PlaneScore struct {
	Score
	// Within is the score of the cases in which the entitled rates of queue pairs at one link differ by up to 4:1; Beyond is
	// the score of the other cases.
	Within *Score `json:"within_4_to_1,omitempty"`
	Beyond *Score `json:"beyond_4_to_1,omitempty"`
	// Causes are the findings that name tenants whose rates differ from their entitlement by more than policy.MissLimit, most
	// frequent first.
	Causes []Cause `json:"causes"`
	Failed int     `json:"failed"` // cases that could not be compiled or simulated
	// Worst are the tenants with the largest errors, largest first.
	Worst []Worst `json:"worst"`
}

// Cause is a finding that names tenants whose rates differ from their entitlement by more than policy.MissLimit. A tenant named
// by several findings counts for each.
type Cause struct {
	Code        string  `json:"code"` // code of the finding; empty for tenants without a finding
	Tenants     int     `json:"tenants"`
	EntitledMax float64 `json:"entitled_error_max"` // largest error of these tenants
}

// Worst is a tenant with one of the largest prediction errors.
type Worst struct {
	Case   int     `json:"case"`
	Tenant string  `json:"tenant"`
	Error  float64 `json:"error"`
	Bound  float64 `json:"bound"`
	Ratio  float64 `json:"ratio"`
}

// maxRatio is the largest ratio of rates at one link for which DCQCN must meet its bound.
const maxRatio = 4

// worstListed is the number of tenants in Worst.
const worstListed = 5

// announcing are the codes of findings that state the expected deviation of a tenant's rate from its entitlement.
var announcing = []string{
	policy.CodeSLExhausted, policy.CodeSourcePort, policy.CodeWeightUnreachable, policy.CodeDCQCNSharedPort, policy.CodePathsByChance,
	policy.CodeShareUncertain, policy.CodeWRCCUnstable, policy.CodeCapCoarse, policy.CodeOverbooked,
}

// announced reports whether a finding that states rates names the tenant, and the simulated rate is within the bound of the
// predicted one, or within the limit.
func (t *TenantResult) announced(limit float64) bool {
	holds := t.Error <= max(limit, t.Bound) || t.Bound >= policy.UnknownBound
	return holds && slices.ContainsFunc(t.Findings, func(code string) bool { return slices.Contains(announcing, code) })
}

// missed reports whether the tenant's rate differs from its entitlement or its prediction by more than a limit and no finding
// announces it.
func (t *TenantResult) missed(limit float64) bool {
	return max(t.Error, t.Entitle) > limit && !t.announced(limit)
}

// ScoreOf summarizes the results of a plane. It ignores results of other planes.
func ScoreOf(plane policy.Plane, results []*Result) PlaneScore {
	var all, near, far []*Result
	out := PlaneScore{Worst: []Worst{}}
	for _, r := range results {
		switch {
		case r.Plane != plane:
			continue
		case r.Failed != "":
			out.Failed++
			continue
		}
		all = append(all, r)
		if r.Ratio <= maxRatio {
			near = append(near, r)
		} else {
			far = append(far, r)
		}
		for _, t := range r.Tenants {
			if t.Contended {
				out.Worst = append(out.Worst, Worst{r.Case, t.Tenant, t.Error, t.Bound, r.Ratio})
			}
		}
	}
	slices.SortStableFunc(out.Worst, func(a, b Worst) int { return cmp.Compare(b.Error, a.Error) })
	out.Worst = out.Worst[:min(len(out.Worst), worstListed)]
	within, beyond := score(near), score(far)
	out.Score, out.Within, out.Beyond, out.Causes = score(all), &within, &beyond, causes(all, policy.MissLimit(plane))
	return out
}

// causes counts, by finding, the named tenants whose rates differ from their entitlement by more than a limit.
func causes(results []*Result, limit float64) []Cause {
	out := []Cause{}
	count := func(code string, by float64) {
		i := slices.IndexFunc(out, func(c Cause) bool { return c.Code == code })
		if i < 0 {
			i = len(out)
			out = append(out, Cause{Code: code})
		}
		out[i].Tenants++
		out[i].EntitledMax = max(out[i].EntitledMax, by)
	}
	for _, r := range results {
		for _, t := range r.Tenants {
			if !t.Contended || t.Entitle <= limit {
				continue
			}
			for _, code := range t.Findings {
				count(code, t.Entitle)
			}
			if len(t.Findings) == 0 {
				count("", t.Entitle)
			}
		}
	}
	slices.SortFunc(out, func(a, b Cause) int { return cmp.Or(cmp.Compare(b.Tenants, a.Tenants), cmp.Compare(a.Code, b.Code)) })
	return out
}

func score(results []*Result) Score {
	s := Score{Cases: len(results)}
	var errs, entitled, bounds, uses []float64
	within := 0
	for _, r := range results {
		for _, t := range r.Tenants {
			if !t.Contended {
				continue
			}
			errs, entitled, bounds = append(errs, t.Error), append(entitled, t.Entitle), append(bounds, t.Bound)
			if t.Error <= t.Bound {
				within++
			}
			if t.missed(policy.MissLimit(r.Plane)) {
				s.Unannounced++
			}
		}
		if r.UseBefore > 0 {
			uses = append(uses, r.Use/r.UseBefore)
		}
	}
	s.Tenants = len(errs)
	at := func(values []float64, q float64) float64 {
		slices.Sort(values)
		v, _ := stats.Quantile(values, q)
		return round6(v)
	}
	s.ShareErrorP50, s.ShareErrorP95, s.ShareErrorMax = at(errs, 0.5), at(errs, 0.95), at(errs, 1)
	s.EntitledP50, s.EntitledP95, s.EntitledMax = at(entitled, 0.5), at(entitled, 0.95), at(entitled, 1)
	s.BoundP50 = at(bounds, 0.5)
	if len(errs) > 0 {
		s.BoundCoverage = round6(float64(within) / float64(len(errs)))
	}
	if len(uses) > 0 {
		m := stats.MomentsOf(uses)
		s.Utilisation, s.UtilisationMin = round6(m.Mean()), round6(m.Min())
	}
	return s
}

// Bounds that an evaluation must meet.
const (
	minUtilisation = 0.97
	minCoverage    = 0.95
)

// ErrorBound returns the largest allowed 95th percentile of share errors of a plane, open loop; on RoCE for rates up to 4:1.
func ErrorBound(plane policy.Plane) float64 {
	switch plane {
	case policy.PlaneRoCE:
		return 0.10
	case policy.PlaneWRCC:
		return 0.01
	default:
		return 0.05
	}
}

// Missed returns an error for the bounds that a score misses: failed cases, share errors (5 % on InfiniBand, 10 % on RoCE with
// rates up to 4:1, 1 % with WRCC; 95th percentile), link utilization below 97 % of the unmanaged fabric, and bound coverage
// below 95 %. nil means none.
func (s *PlaneScore) Missed(plane policy.Plane) error {
	var errs []error
	if s.Failed > 0 {
		errs = append(errs, fmt.Errorf("%s: %d cases failed", plane, s.Failed))
	}
	off := s.ShareErrorP95
	if plane == policy.PlaneRoCE && s.Within != nil {
		off = s.Within.ShareErrorP95
	}
	if b := ErrorBound(plane); off > b {
		errs = append(errs, fmt.Errorf("%s: share error %.2f %% at the 95th percentile: want at most %.0f %%", plane, 100*off, 100*b))
	}
	if s.Cases > 0 && s.Utilisation < minUtilisation {
		errs = append(errs, fmt.Errorf("%s: link use is %.1f %% of the unweighted: want at least %.0f %%", plane, 100*s.Utilisation, 100*minUtilisation))
	}
	if s.Tenants > 0 && s.BoundCoverage < minCoverage {
		errs = append(errs, fmt.Errorf("%s: bounds cover %.1f %% of the tenants: want at least %.0f %%", plane, 100*s.BoundCoverage, 100*minCoverage))
	}
	return errors.Join(errs...)
}
