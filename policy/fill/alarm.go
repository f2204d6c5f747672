package fill

// alarm is a visit in the history that is to be noticed; alarms are a heap of them by moment.
type alarm struct {
	at   moment
	link int32
}

type alarms []alarm

func (h *alarms) push(a alarm) {
	*h = append(*h, a)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if s[up].at <= a.at {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *alarms) pop() {
	s := *h
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := 2*i + 1
		if least >= last {
			return
		}
		if least+1 < last && s[least+1].at < s[least].at {
			least++
		}
		if s[i].at <= s[least].at {
			return
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
