package plan

// Rules of reasons: the rule that gave a setting its value. They are stable: scripts and catalogues refer to them.
const (
	// RulePortControl: one CCTI for each queue pair of an InfiniBand port, or for each SL.
	RulePortControl = "port-control"
	// RuleProduct: CCTI_Timer in inverse proportion to the wanted rate.
	RuleProduct = "product-rule"
	// RuleTheorem1: CCTI_Increase in inverse proportion to the wanted rate, with one timer for all (S1, Theorem 1).
	RuleTheorem1 = "theorem1"
	// RuleUncontended: as RuleProduct, for flows that no link marks.
	RuleUncontended = "uncontended"
	// RuleIdle: the part of the port that its tenants' weights give, since no flows are known.
	RuleIdle = "idle-share"
	// RuleSmallestIncrease: the least CCTI_Increase whose timer fits.
	RuleSmallestIncrease = "smallest-increase"
	// RuleTrigger: the CCTI at which a device logs.
	RuleTrigger = "log-at-half-share"
	// RuleCap: the value that holds a tenant at its cap.
	RuleCap = "cap"
	// RuleUnassigned: SLs without a tenant.
	RuleUnassigned = "unassigned-sl"
	// RuleTableGeometric: the entries of a congestion control table, each slower by the same factor.
	RuleTableGeometric = "cct-geometric"
	// RuleTableQuadratic: the entries of a congestion control table by S1's law.
	RuleTableQuadratic = "cct-quadratic"
	// RuleWholeTable: CCTI_Limit is the last entry.
	RuleWholeTable = "whole-table"
	// RuleMarkingLate: ports that limit no flow mark as late as they can.
	RuleMarkingLate = "marking-late"
	// RuleMarkingRate: packets per mark.
	RuleMarkingRate = "marking-rate"
	// RuleMarkingDepth: the queue length from which a port marks.
	RuleMarkingDepth = "marking-depth"
	// RuleUnmarkedSize: packets too small to be marked.
	RuleUnmarkedSize = "unmarked-size"
	// RuleRoots: ports that mark even without credits.
	RuleRoots = "host-ports-are-roots"
	// RuleNoStarvation: no port withholds credits.
	RuleNoStarvation = "no-credit-starvation"
	// RuleLaneBySL: the virtual lane of each SL.
	RuleLaneBySL = "lane-by-sl"
	// RuleLaneWeight: the amount that a virtual lane may send in its turn.
	RuleLaneWeight = "lane-weight"
	// RuleVendorDefault: the device's default.
	RuleVendorDefault = "vendor-default"
	// RuleManagedPort: the value that the device profile was calibrated with.
	RuleManagedPort = "managed-port"
	// RuleCalibratedLever: the measured response of DCQCN, inverted.
	RuleCalibratedLever = "calibrated-lever"
	// RuleMarkingByRTT: ECN thresholds from speed and round trip.
	RuleMarkingByRTT = "marking-by-rtt"
	// RuleShareByWeight: the rate of a tenant's virtual function.
	RuleShareByWeight = "share-by-weight"
	// RuleNoTenant: the rate of functions without a tenant.
	RuleNoTenant = "no-tenant"
	// RuleWRCCT: the period of WRCC switches (S0, 3.6).
	RuleWRCCT = "wrcct"
	// RuleT1: the timer of WRCC senders (S0, 3.6).
	RuleT1 = "t1"
	// RuleFmax: the largest fair rate.
	RuleFmax = "fmax"
	// RuleFmin: the least fair rate.
	RuleFmin = "fmin"
	// RuleTarget: the target load of a WRCC port.
	RuleTarget = "target"
	// RuleS0Default: the value of S0's experiments.
	RuleS0Default = "s0-default"
	// RuleShortQueue: the least QRatioMax.
	RuleShortQueue = "short-queue"
	// RuleEntitledRate: the weight of a WRCC sender from the entitled rate of a queue pair.
	RuleEntitledRate = "entitled-rate"
	// RuleDemand: the weight of a WRCC sender from the demand of a queue pair.
	RuleDemand = "demand"
)

// Rules lists all rules.
func Rules() []string {
	return []string{
		RulePortControl, RuleProduct, RuleTheorem1, RuleUncontended, RuleIdle, RuleSmallestIncrease, RuleTrigger, RuleCap, RuleUnassigned,
		RuleTableGeometric, RuleTableQuadratic, RuleWholeTable, RuleMarkingLate, RuleMarkingRate, RuleMarkingDepth, RuleUnmarkedSize, RuleRoots,
		RuleNoStarvation, RuleLaneBySL, RuleLaneWeight, RuleVendorDefault, RuleManagedPort, RuleCalibratedLever, RuleMarkingByRTT,
		RuleShareByWeight, RuleNoTenant, RuleWRCCT, RuleT1, RuleFmax, RuleFmin, RuleTarget, RuleS0Default, RuleShortQueue, RuleEntitledRate, RuleDemand,
	}
}
