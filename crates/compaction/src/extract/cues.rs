//! Cues: words and phrases that tell what a sentence is: an instruction, a preference, a decision, a failure, an open
//! question. English first, with the commonest of German, French, Spanish, Chinese and Japanese. What no cue is known for is
//! ranked by what knows no language: who says it, where it stands, how rare its words are.

use super::words::{self, Word, hash};
use threadkeep_core::sort;

/// Asks for something that is to hold from now on.
pub(super) const INSTRUCT: u16 = 1;
/// Says what somebody likes or wants.
pub(super) const PREFER: u16 = 2;
/// Decides, or says that it was decided.
pub(super) const DECIDE: u16 = 4;
/// Something failed.
pub(super) const ERROR: u16 = 8;
/// Something is open or still to be done.
pub(super) const OPEN: u16 = 16;
/// Says who somebody is, or what they have.
pub(super) const SELF: u16 = 32;
/// Something was found out, mended or finished.
pub(super) const RESULT: u16 = 64;
/// Politeness and announcements: nothing is lost without it.
pub(super) const FILLER: u16 = 128;
/// It has a number or a date in it.
pub(super) const NUMBER: u16 = 256;
/// It names a path, a web address or an identifier.
pub(super) const NAMES_CODE: u16 = 512;
/// It names somebody or something: a capital within the sentence.
pub(super) const NAME: u16 = 1024;
/// It is a question.
pub(super) const QUESTION: u16 = 2048;
/// It says no: two sentences that differ in this do not say the same.
pub(super) const NOT: u16 = 4096;
/// It asks for the present step only: what to do, not how things are to be.
pub(super) const REQUEST: u16 = 8192;

/// The phrases of each cue, with `|` between them. One that begins with `^` counts at the beginning only.
const PHRASES: &[(u16, &str)] = &[
    (
        INSTRUCT,
        "always|never|from now on|make sure|must|must not|mustn't|should not|shouldn't|remember to|remember that|\
         please remember|don't forget|do not forget|going forward|at all times|under no circumstances|no longer use|\
         instead of|is not allowed|are not allowed|only use|i need you to|i want you to|no need to|every time|whenever|\
         it is important|important:|is required|^use|^don't|^do not|^please|^avoid|^keep|^stop|^only|^ensure|^note that|\
         immer|niemals|nie|auf keinen fall|ab jetzt|von nun an|^bitte|^verwende|^benutze|toujours|jamais|\
         à partir de maintenant|il faut|^utilise|^utilisez|n'utilise|siempre|nunca|a partir de ahora|\
         asegúrate|^usa|^utiliza|^por favor|必须|不要|总是|永远|务必|请用|必ず|しない|ないで|ください",
    ),
    (
        PREFER,
        "i prefer|i'd prefer|i would prefer|prefer|prefers|my preference|i like|i love|i hate|i dislike|i don't like|\
         i do not like|i'd rather|i would rather|favorite|favourite|i want|i'd like|i would like|rather than|i enjoy|\
         i'm more comfortable|works best for me|i need|ich bevorzuge|lieber|ich mag|ich möchte|ich will|ich brauche|\
         je préfère|j'aime|je veux|je voudrais|prefiero|me gusta|quiero|喜欢|偏好|更喜|希望|好き|好み",
    ),
    (
        DECIDE,
        "decided|decide to|decision|we will|we'll|i will|i'll go|let's|let us go|agreed|we chose|i chose|chosen|we settled|\
         settled on|the plan is|going with|go with|switch to|switched to|switching to|we are using|we're using|\
         i'm using|we use|opted|approved|i've set|we agreed|scheduled|deadline|entschieden|beschlossen|wir werden|\
         wir nehmen|abgemacht|décidé|nous allons|on va|d'accord|decidido|decidimos|vamos a|acordamos|决定|采用|\
         我们用|选择|決定|決め|にしま",
    ),
    (
        ERROR,
        "error|errors|failed|failure|fails|failing|exception|panic|panicked|traceback|crash|crashes|crashed|broken|bug|\
         not working|doesn't work|does not work|didn't work|cannot|can't|could not|couldn't|undefined|timeout|timed out|\
         refused|denied|not found|exit code|invalid|unexpected|fehler|fehlgeschlagen|kaputt|geht nicht|\
         funktioniert nicht|erreur|échec|échoué|ne marche pas|ne fonctionne pas|fallo|falló|no funciona|错误|失败|\
         报错|异常|失敗|エラ|動かな",
    ),
    (
        OPEN,
        "todo|fixme|tbd|not yet|still need|still needs|still have to|open question|unresolved|undecided|unclear|\
         next step|next steps|remaining|pending|to be done|to be decided|need to decide|not sure|wondering|\
         remains to|blocked|noch nicht|offene frage|offen|unklar|pas encore|reste à|todavía no|pendiente|falta|\
         待办|未解|尚未|还没|未定|まだ",
    ),
    (
        SELF,
        "my name is|i am|i'm|i live|i work|my|i've|i have|our|we have|ich bin|ich heiße|ich arbeite|mein|meine|\
         unser|unsere|je suis|je m'appelle|mon|ma|mes|notre|soy|me llamo|mi|nuestro|我是|我叫|我的|私は|私の",
    ),
    (
        RESULT,
        "fixed|works now|solved|resolved|implemented|completed|finished|root cause|because|turns out|therefore|\
         found that|the problem was|the issue was|the cause|updated|changed to|changed from|improved|increased|\
         reduced|conclusion|in summary|behoben|gelöst|fertig|weil|ursache|corrigé|résolu|terminé|parce que|arreglado|\
         resuelto|terminado|porque|解决|修复|完成|因为|原因|解決|修正",
    ),
    (
        FILLER,
        "^certainly|^absolutely|^sure|^of course|^great|^thanks|^thank you|^you're welcome|^sounds good|^perfect|^okay|\
         ^awesome|i hope this helps|let me know|feel free|happy to help|^got it|^here's|^here is|^here are|^below is|\
         if you have any|^natürlich|^gerne|^danke|^bien sûr|^merci|^claro|^gracias|^por supuesto|^当然|^好的|谢谢",
    ),
    (
        NOT,
        "not|no|never|don't|doesn't|didn't|isn't|aren't|wasn't|won't|can't|cannot|haven't|hasn't|without|none|nicht|kein|\
         keine|nie|niemals|ne|pas|jamais|sin|nunca|不要|不是|没有|不会",
    ),
    (
        REQUEST,
        "can you|could you|would you|help me|how do|how can|how should|what is|what are|what should|kannst du|\
         können sie|pouvez|peux|puedes|podrías|怎么|如何|請|できま",
    ),
];

/// Words that say nothing of what a text is about.
const STOP: &str = "a an the and or but if then else of in on at to for from by with as is are was were be been being it its \
    this that these those there here i you he she we they me him her us them my your our their his who what which when where \
    how why can could will would shall should may might must do does did done have has had having so than too very just also \
    more most some any all each every other such only own same not no nor up down out over under again into about after \
    before between through during while because until i'm i've i'll i'd it's that's let's you're we're they're don't \
    doesn't didn't can't won't isn't aren't make sure help please want need using use used like get got one two now \
    der die das und oder aber ein eine einer eines einem einen ist sind war im in den dem des zu mit von für auf nicht \
    ich du er sie es wir ihr auch noch nur wie was wenn dass le la les un une des et ou mais est sont du de en dans pour \
    pas je tu il elle nous vous ce cette que qui el los las y o pero es son del por para con no yo tú que se su al lo";

/// Cues and stop words, ready to be looked up.
pub(super) struct Cues {
    /// By the hash of the first word: phrase, what it tells, whether it counts at the beginning only.
    phrases: Vec<(u32, Vec<u32>, u16, bool)>,
    stop: Vec<u32>,
}

impl Cues {
    /// Reads the tables.
    pub fn new() -> Self {
        let mut phrases = Vec::new();
        for (tells, list) in PHRASES {
            for phrase in list.split('|') {
                let (first_only, phrase) = phrase.strip_prefix('^').map_or((false, phrase), |phrase| (true, phrase));
                let mut hashes = Vec::new();
                words::words(phrase, &mut |word| hashes.push(word.hash));
                if let Some(first) = hashes.first().copied() {
                    phrases.push((first, hashes, *tells, first_only));
                }
            }
        }
        sort::sort(&mut phrases);
        let mut stop: Vec<u32> = STOP.split_whitespace().map(hash).collect();
        sort::sort(&mut stop);
        Self { phrases, stop }
    }

    /// Whether a word says nothing of what a text is about.
    pub fn is_stop(&self, word: &Word) -> bool {
        self.stop.binary_search(&word.hash).is_ok()
    }

    /// What the words of a sentence tell.
    pub fn tell(&self, list: &[Word]) -> u16 {
        let mut told = 0;
        for (at, word) in list.iter().enumerate() {
            let from = self.phrases.partition_point(|phrase| phrase.0 < word.hash);
            for (first, hashes, tells, first_only) in &self.phrases[from..] {
                if *first != word.hash {
                    break;
                }
                let here = list.get(at..at + hashes.len());
                let same = here.is_some_and(|here| here.iter().zip(hashes).all(|(word, hash)| word.hash == *hash));
                if same && (at == 0 || !first_only) {
                    told |= tells;
                }
            }
        }
        told
    }
}

/// What the letters of a sentence tell, whatever its language: numbers, paths, addresses, identifiers, names, questions.
pub(super) fn look(text: &str, list: &[Word]) -> u16 {
    let mut told = 0;
    for (at, word) in list.iter().enumerate() {
        let like = word.like;
        if like & words::DIGIT != 0 {
            told |= NUMBER;
        }
        if like & words::CODE != 0 {
            told |= NAMES_CODE;
        }
        if at > 0 && like & words::CAPITAL != 0 && word.at.1 - word.at.0 > 1 {
            told |= NAME;
        }
    }
    if text.contains('`') || text.split_whitespace().any(is_path) {
        told |= NAMES_CODE;
    }
    if text.trim_end_matches(['"', ')', '*', '”', '」']).ends_with(['?', '？', '؟']) {
        told |= QUESTION;
    }
    told
}

/// Whether a word between spaces is a path, a file's name or a web address.
pub(super) fn is_path(word: &str) -> bool {
    let word = word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '/' && letter != '~');
    if word.contains("://") {
        return true;
    }
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let slashes = word.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    if slashes > 0 && letters > 2 && (slashes > 1 || word.starts_with(['/', '~']) || word.contains('.')) {
        return true;
    }
    let Some((name, ending)) = word.rsplit_once('.') else { return false };
    const ENDINGS: &str = " rs py js ts tsx jsx json jsonl md toml yaml yml html css txt sh go java c h cpp sql csv png jpg svg \
        pdf xml lock log ini env rb php kt swift ipynb docx xlsx ";
    !name.is_empty() && (1..6).contains(&ending.len()) && ENDINGS.split(' ').any(|known| known == ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> u16 {
        let mut list = Vec::new();
        words::words(text, &mut |word| list.push(word));
        Cues::new().tell(&list) | look(text, &list)
    }

    #[test]
    fn cues_are_found_in_several_languages() {
        for (text, cue) in [
            ("Always run the tests first.", INSTRUCT),
            ("Use vitest here.", INSTRUCT),
            ("Bitte antworte kurz.", INSTRUCT),
            ("il faut tester", INSTRUCT),
            ("请用中文，不要翻译。", INSTRUCT),
            ("I\u{2019}d rather not.", PREFER),
            ("prefiero el té", PREFER),
            ("Wir haben uns entschieden.", DECIDE),
            ("Let's take Postgres.", DECIDE),
            ("The build failed.", ERROR),
            ("TODO later", OPEN),
            ("Which one?", QUESTION),
            ("it took 12 ms", NUMBER),
            ("see src/main.rs there", NAMES_CODE),
            ("call parse_file now", NAMES_CODE),
            ("ask Maria", NAME),
        ] {
            assert_eq!(told(text) & cue, cue, "{text}");
        }
        assert_eq!(told("we use it") & INSTRUCT, 0);
    }

    #[test]
    fn paths_are_no_fractions() {
        for path in ["/etc/hosts", "src/lib.rs", "a.toml,", "https://example.org", "~/x/yz", "`lib.rs`"] {
            assert!(is_path(path), "{path}");
        }
        for word in ["and/or", "1/2", "3.5", "e.g.", "end.", "/", "."] {
            assert!(!is_path(word), "{word}");
        }
    }
}
