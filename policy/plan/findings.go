package plan

import (
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
)

// Codes of findings. They are stable: scripts and the documentation refer to them.
const (
	// CodeSLExhausted: tenants share an SL on a port, so the port cannot distinguish them.
	CodeSLExhausted = "sl-exhausted"
	// CodeSharedSetting: flows with different entitlements share one (port, SL) and so one aggressiveness.
	CodeSharedSetting = "shared-setting"
	// CodeSourcePort: tenants contend for a sending port, where congestion control has no effect.
	CodeSourcePort = "source-port-contended"
	// CodeTimerQuantised: a rounded CCTI_Timer misses the required ratio by more than 1 %.
	CodeTimerQuantised = "timer-quantised"
	// CodeMarkingSparse: marks are so rare that the shares settle slowly.
	CodeMarkingSparse = "marking-too-sparse"
	// CodeSlowConvergence: shares settle in more than 150 ms.
	CodeSlowConvergence = "slow-convergence"
	// CodeCCTLimit: the last table entry does not slow a flow below its entitlement with margin.
	CodeCCTLimit = "cct-limit-clamps"
	// CodeWeightUnreachable: a tenant is predicted to get more than 4.5 % off its entitlement, or one of its classes or parts of a link more than 5 %.
	CodeWeightUnreachable = "weight-unreachable"
	// CodeIncreaseClamped: theorem1 mode needs a CCTI_Increase over 255.
	CodeIncreaseClamped = "increase-clamped"
	// CodeCapCoarse: the table cannot hold a tenant at its cap within 5 %.
	CodeCapCoarse = "cap-coarse"
	// CodeFlowUnreachable: a failed link leaves flows without a path; they are omitted.
	CodeFlowUnreachable = "flow-unreachable"
	// CodeOverbooked: the guarantees of the tenants on a link exceed it, so none of them is kept in full.
	CodeOverbooked = "guarantee-overbooked"
	// CodeClaimsExceed: workloads of a tenant are promised more of a port than the plan gives the tenant for sure.
	CodeClaimsExceed = "claims-exceed-guarantee"
	// CodeDCQCNSharedPort: tenants send from one NIC port, whose DCQCN registers cannot distinguish them.
	CodeDCQCNSharedPort = "dcqcn-shared-port"
	// CodeClassShared: tenants share a traffic class, because there are fewer classes than tenants, and one misses its share of a link by more than 5 %.
	CodeClassShared = "class-shared"
	// CodeQueueWeights: weights of queues, 1 to 100, cannot hold the ratio of tenants' weights within 5 %.
	CodeQueueWeights = "queue-weights-coarse"
	// CodeUncalibratedSpeed: a link is faster or slower than any speed that the profile was calibrated at.
	CodeUncalibratedSpeed = "uncalibrated-speed"
	// CodeSLSplit: a tenant has several SLs, because one for all its ports does not fit.
	CodeSLSplit = "sl-split"
	// CodeLanesNeedSM: the plan sets lane weights, which only the subnet manager can write.
	CodeLanesNeedSM = "vl-arbitration-needs-sm"
	// CodeLanesCoarse: a lane's share is off by more than 5 %, because lanes or table entries are too few.
	CodeLanesCoarse = "vl-arbitration-coarse"
	// CodeWRCCUnstable: no WRCCT of S0's range is stable for all round trips that cross a data centre.
	CodeWRCCUnstable = "wrcc-unstable"
	// CodePeriodClamped: the round trips of a data centre require a WRCCT that switches cannot set.
	CodePeriodClamped = "wrcc-period-clamped"
	// CodeFairRateCoarse: a link is so slow that headers, in whole Mbit/s, carry fair rates with an error above 0.1 %.
	CodeFairRateCoarse = "fair-rate-coarse"
	// CodeWeightRange: the ratio of the entitled rates of queue pairs is out of the range of weights.
	CodeWeightRange = "weight-out-of-range"
	// CodeCapUnenforced: no setting and no link keeps a tenant below its cap.
	CodeCapUnenforced = "cap-unenforced"
	// CodePathsByChance: a hash unknown to the compiler chooses the paths of few queue pairs.
	CodePathsByChance = "paths-by-chance"
	// CodeShareUncertain: the bound of a tenant's prediction is above 5 %, on RoCE above 9 %.
	CodeShareUncertain = "share-uncertain"
	// CodeDeviceLimit: the profile of an InfiniBand device's model cannot hold what the shares need.
	CodeDeviceLimit = "device-limit"
	// CodeSharingApproximate: the links that wait for each other are too many, and the allocation only approximates the fair one.
	CodeSharingApproximate = "sharing-approximate"
)

// SortFindings orders findings by code, tenants, links and text, and drops repetitions.
func SortFindings(fs []Finding) []Finding {
	slices.SortFunc(fs, func(a, b Finding) int {
		if c := strings.Compare(a.Code, b.Code); c != 0 {
			return c
		}
		if c := slices.Compare(a.Tenants, b.Tenants); c != 0 {
			return c
		}
		if c := slices.Compare(a.Links, b.Links); c != 0 {
			return c
		}
		return strings.Compare(a.Content(), b.Content())
	})
	fs = slices.CompactFunc(fs, func(a, b Finding) bool {
		return a.Code == b.Code && slices.Equal(a.Tenants, b.Tenants) && slices.Equal(a.Links, b.Links) && a.Content() == b.Content()
	})
	if fs == nil {
		return []Finding{}
	}
	return fs
}

// Content identifies what the finding says, apart from its wording; in plans of format 1 it is the English text.
func (f *Finding) Content() string {
	if f.Statement == nil {
		return f.Message
	}
	return f.Statement.Canonical()
}

// NewFinding returns a finding with a statement and an advice.
func NewFinding(code string, tenants, links []string, statement, advice phrase.Text) Finding {
	return Finding{Code: code, Tenants: tenants, Links: links, Message: statement.String(), Statement: &statement}.Advised(advice)
}

// Advised returns the finding with another advice.
func (f Finding) Advised(advice phrase.Text) Finding {
	f.Fix, f.Advice = advice.String(), &advice
	return f
}

// WithStatement returns the finding with another statement.
func (f Finding) WithStatement(statement phrase.Text) Finding {
	f.Message, f.Statement = statement.String(), &statement
	return f
}

// Bounded returns the first MaxNames of a list.
func Bounded[T any](list []T) []T {
	if len(list) > MaxNames {
		return list[:MaxNames]
	}
	return list
}

// InsteadOf states the rate that a tenant is predicted to get.
func InsteadOf(tenant string, predicted, entitled quantity.BitRate) phrase.Text {
	if predicted.String() == entitled.String() {
		return phrase.Of("plan.as-entitled", "tenant", tenant, "predicted", predicted)
	}
	return phrase.Of("plan.instead", "tenant", tenant, "predicted", predicted, "entitled", entitled)
}

// MaxNames bounds the ports or links that a finding lists.
const MaxNames = 16
