package policy

import (
	"slices"
)

// Codes of findings. They are stable: scripts and the documentation refer to them.
const (
	// CodeSLExhausted: tenants share an SL on a port, so the port cannot tell them apart.
	CodeSLExhausted = "sl-exhausted"
	// CodeSharedSetting: flows with different entitlements share one (port, SL) and so one
	// aggressiveness.
	CodeSharedSetting = "shared-setting"
	// CodeSourcePort: tenants contend for a port that sends, where congestion control has no say.
	CodeSourcePort = "source-port-contended"
	// CodeTimerQuantised: a rounded CCTI_Timer misses the wanted ratio by more than 1 %.
	CodeTimerQuantised = "timer-quantised"
	// CodeMarkingSparse: marks are so rare that the shares need long to settle.
	CodeMarkingSparse = "marking-too-sparse"
	// CodeSlowConvergence: shares settle in more than 150 ms.
	CodeSlowConvergence = "slow-convergence"
	// CodeCCTLimit: the last table entry does not slow a flow below its entitlement with margin.
	CodeCCTLimit = "cct-limit-clamps"
	// CodeWeightUnreachable: a tenant is predicted to get more than 5 % off its entitlement.
	CodeWeightUnreachable = "weight-unreachable"
	// CodeIncreaseClamped: theorem1 mode needs a CCTI_Increase over 255.
	CodeIncreaseClamped = "increase-clamped"
)

// sortFindings orders findings by code, tenants, links and text, and drops repetitions.
func sortFindings(fs []Finding) []Finding {
	slices.SortFunc(fs, func(a, b Finding) int {
		if c := compareText(a.Code, b.Code); c != 0 {
			return c
		}
		if c := slices.Compare(a.Tenants, b.Tenants); c != 0 {
			return c
		}
		if c := slices.Compare(a.Links, b.Links); c != 0 {
			return c
		}
		return compareText(a.Message, b.Message)
	})
	fs = slices.CompactFunc(fs, func(a, b Finding) bool {
		return a.Code == b.Code && a.Message == b.Message && slices.Equal(a.Tenants, b.Tenants) && slices.Equal(a.Links, b.Links)
	})
	if fs == nil {
		return []Finding{}
	}
	return fs
}

// bounded keeps the first maxNames names.
func bounded(names []string) []string {
	if len(names) > maxNames {
		return names[:maxNames]
	}
	return names
}
