package reference

import (
	"html"
	"regexp"
	"strings"
)

// markdown converts the Markdown of our pages into HTML: headings, paragraphs, lists, tables, code, emphasis and links.
// Everything else is text, including HTML, so that a page can contain no script. link maps the target of a link; "" keeps
// only the link's words.
func markdown(text string, link func(string) string) string {
	m := &writer{link: link}
	m.lines = strings.Split(comment.ReplaceAllString(text, ""), "\n")
	for m.at < len(m.lines) {
		m.block()
	}
	return m.out.String()
}

var (
	comment  = regexp.MustCompile(`(?s)<!--.*?-->`)
	heading  = regexp.MustCompile(`^(#{1,6}) +(.*?)\s*#*$`)
	bullet   = regexp.MustCompile(`^(\s*)([-*]|\d{1,2}[.)]) +(.*)$`)
	divider  = regexp.MustCompile(`^\|?[ :|-]*-[ :|-]*$`)
	spans    = regexp.MustCompile("`+[^`]+`+|!?\\[([^\\]]*)\\]\\(([^)\\s]*)\\)|\\*\\*[^*]+\\*\\*|\\*[^*\\s][^*]*\\*|<https?://[^>\\s]+>")
	unworthy = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// writer holds a page in progress.
type writer struct {
	out   strings.Builder
	lines []string
	at    int
	link  func(string) string
}

// block writes the block that starts at the next line.
func (m *writer) block() {
	line := m.lines[m.at]
	h := heading.FindStringSubmatch(line)
	switch {
	case strings.TrimSpace(line) == "":
		m.at++
	case strings.HasPrefix(line, "```"):
		m.fence()
	case strings.HasPrefix(line, "    "):
		m.indented()
	case h != nil:
		tag := "h" + string(rune('0'+len(h[1])))
		m.out.WriteString("<" + tag + ` id="` + html.EscapeString(slug(h[2])) + `">` + m.inline(h[2]) + "</" + tag + ">\n")
		m.at++
	case strings.HasPrefix(line, "|") && m.at+1 < len(m.lines) && divider.MatchString(m.lines[m.at+1]):
		m.table()
	case bullet.MatchString(line):
		m.list()
	default:
		m.paragraph()
	}
}

// slug returns the anchor of a heading, as on GitHub.
func slug(text string) string {
	return strings.ReplaceAll(unworthy.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
}

func (m *writer) fence() {
	m.at++
	m.out.WriteString("<pre><code>")
	for ; m.at < len(m.lines) && !strings.HasPrefix(m.lines[m.at], "```"); m.at++ {
		m.out.WriteString(html.EscapeString(m.lines[m.at]) + "\n")
	}
	m.at++
	m.out.WriteString("</code></pre>\n")
}

func (m *writer) indented() {
	var code []string
	for ; m.at < len(m.lines) && (strings.HasPrefix(m.lines[m.at], "    ") || strings.TrimSpace(m.lines[m.at]) == ""); m.at++ {
		code = append(code, strings.TrimPrefix(m.lines[m.at], "    "))
	}
	m.out.WriteString("<pre><code>" + html.EscapeString(strings.TrimRight(strings.Join(code, "\n"), "\n")) + "\n</code></pre>\n")
}

func (m *writer) table() {
	m.out.WriteString("<div class=\"wide\"><table><thead>")
	m.row("th")
	m.at++ // the line of hyphens
	m.out.WriteString("</thead><tbody>")
	for m.at < len(m.lines) && strings.HasPrefix(m.lines[m.at], "|") {
		m.row("td")
	}
	m.out.WriteString("</tbody></table></div>\n")
}

func (m *writer) row(cell string) {
	line := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(m.lines[m.at]), "|"), "|")
	m.at++
	m.out.WriteString("<tr>")
	for _, c := range strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|") {
		m.out.WriteString("<" + cell + ">" + m.inline(strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|"))) + "</" + cell + ">")
	}
	m.out.WriteString("</tr>")
}

// list writes a list with its continuation lines; nested lists are written flat.
func (m *writer) list() {
	tag := "ul"
	if kind := bullet.FindStringSubmatch(m.lines[m.at])[2]; kind != "-" && kind != "*" {
		tag = "ol"
	}
	m.out.WriteString("<" + tag + ">")
	for m.at < len(m.lines) {
		b := bullet.FindStringSubmatch(m.lines[m.at])
		if b == nil {
			break
		}
		m.at++
		words := []string{b[3]}
		for m.at < len(m.lines) && m.goesOn() && strings.HasPrefix(m.lines[m.at], " ") {
			words = append(words, strings.TrimSpace(m.lines[m.at]))
			m.at++
		}
		m.out.WriteString("<li>" + m.inline(strings.Join(words, " ")) + "</li>")
	}
	m.out.WriteString("</" + tag + ">\n")
}

// goesOn reports whether the next line continues the current text.
func (m *writer) goesOn() bool {
	line := m.lines[m.at]
	return strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "```") && !heading.MatchString(line) && !bullet.MatchString(line) && !strings.HasPrefix(line, "|")
}

func (m *writer) paragraph() {
	words := []string{strings.TrimSpace(m.lines[m.at])}
	for m.at++; m.at < len(m.lines) && m.goesOn(); m.at++ {
		words = append(words, strings.TrimSpace(m.lines[m.at]))
	}
	m.out.WriteString("<p>" + m.inline(strings.Join(words, " ")) + "</p>\n")
}

// inline writes the text of a line.
func (m *writer) inline(text string) string {
	var b strings.Builder
	for {
		at := spans.FindStringSubmatchIndex(text)
		if at == nil {
			b.WriteString(html.EscapeString(text))
			return b.String()
		}
		b.WriteString(html.EscapeString(text[:at[0]]))
		found := text[at[0]:at[1]]
		switch found[0] {
		case '`':
			b.WriteString("<code>" + html.EscapeString(strings.Trim(found, "`")) + "</code>")
		case '*':
			tag := "strong"
			if !strings.HasPrefix(found, "**") {
				tag = "em"
			}
			b.WriteString("<" + tag + ">" + m.inline(strings.Trim(found, "*")) + "</" + tag + ">")
		case '<':
			b.WriteString(anchor(found[1:len(found)-1], html.EscapeString(found[1:len(found)-1])))
		case '!': // an image: only its words
			b.WriteString("<em>" + html.EscapeString(text[at[2]:at[3]]) + "</em>")
		default:
			b.WriteString(anchor(m.link(text[at[4]:at[5]]), m.inline(text[at[2]:at[3]])))
		}
		text = text[at[1]:]
	}
}

func anchor(target, words string) string {
	if target == "" {
		return words
	}
	return `<a href="` + html.EscapeString(target) + `">` + words + "</a>"
}
