//! Forms of a word that no stemmer joins: `went` and `go`. A query that has one looks for all of them.

/// Forms of one English word in a row, the rows apart by commas.
const ENGLISH: &str = "begin began begun,bite bit bitten,blow blew blown,break broke broken,bring brought,build built,buy bought,catch caught,\
    choose chose chosen,come came,draw drew drawn,drink drank drunk,drive drove driven,eat ate eaten,fall fell fallen,feed fed,feel felt,\
    fight fought,find found,fly flew flown,forget forgot forgotten,freeze froze frozen,get got gotten,give gave given,go went gone,\
    grow grew grown,hear heard,hide hid hidden,hold held,keep kept,know knew known,lead led,leave left,lend lent,lose lost,make made,\
    mean meant,meet met,pay paid,ride rode ridden,ring rang rung,rise rose risen,run ran,say said,see saw seen,seek sought,sell sold,\
    send sent,shake shook shaken,shoot shot,sing sang sung,sit sat,sleep slept,speak spoke spoken,spend spent,stand stood,steal stole stolen,\
    stick stuck,swim swam swum,take took taken,teach taught,think thought,throw threw thrown,understand understood,wake woke woken,\
    wear wore worn,win won,write wrote written,child children,man men,woman women,person people,wife wives,life lives,foot feet,tooth teeth,\
    mouse mice,mom mum mother,dad father,photo picture";

/// The other forms of an English word in lower case; its endings in `ing` and `s` count as the word.
pub fn others(word: &str) -> impl Iterator<Item = &'static str> {
    let plain = |form: &str| {
        let stem = form.strip_suffix('e').unwrap_or(form);
        word == form || word.strip_prefix(form) == Some("s") || word.strip_prefix(stem) == Some("ing")
    };
    let row = ENGLISH.split(',').find(|row| row.split(' ').any(plain));
    row.into_iter().flat_map(|row| row.split(' '))
}

#[cfg(test)]
mod tests {
    use super::others;

    #[test]
    fn forms_of_a_word_are_known() {
        assert_eq!(others("bought").collect::<Vec<_>>(), ["buy", "bought"]);
        assert_eq!(others("giving").collect::<Vec<_>>(), ["give", "gave", "given"]);
        assert_eq!(others("takes").collect::<Vec<_>>(), ["take", "took", "taken"]);
        assert_eq!(others("printer").count(), 0);
    }
}
