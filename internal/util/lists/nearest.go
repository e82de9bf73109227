package lists

import "fmt"

// Nearest gives the candidate that is the fewest edits away from name; empty if all are too far off
// to be a typing error. Of equally near candidates it is the first.
func Nearest(name string, candidates []string) string {
	best, _ := nearest(name, candidates, (len(name)+2)/3)
	return best
}

// Within gives the first of the candidates that are the fewest edits away from name, and at most that many; empty if
// there is none.
func Within(name string, candidates []string, edits int) string {
	best, _ := nearest(name, candidates, edits)
	return best
}

// Misspelt gives the candidate that is at most two edits away from name; empty if there is none, or
// if name is one of them.
func Misspelt(name string, candidates []string) string {
	best, edits := nearest(name, candidates, 2)
	if edits == 0 {
		return ""
	}
	return best
}

// nearest gives the first of the candidates that are the fewest edits away from name, and how many; it is
// empty if all are further away than most.
func nearest(name string, candidates []string, most int) (best string, edits int) {
	edits = most + 1
	for _, c := range candidates {
		if d := editDistance(name, c); d < edits {
			best, edits = c, d
		}
	}
	return best, edits
}

// editDistance is the number of bytes to insert, delete or replace to get from a to b
// (Levenshtein's distance).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Hint is the tail of an error message about a name that is not one of candidates.
func Hint(name string, candidates []string) string {
	if s := Nearest(name, candidates); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	return ""
}

// Tail is Hint behind a semicolon, or nothing.
func Tail(name string, candidates []string) string {
	if h := Hint(name, candidates); h != "" {
		return "; " + h
	}
	return ""
}
